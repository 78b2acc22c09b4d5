// tenon validate: checks everything about a graph file.
#include <fmt/format.h>

#include <tenon/host/graph.hpp>

#include "cli/command.hpp"
#include "cli/input/graph_file.hpp"
#include "cli/print/json_text.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

struct Counts {
  std::size_t nodes = 0, values = 0, tensors = 0;
};

Counts count(const Graph& graph) {
  Counts counts;
  for (const auto& node : graph.nodes()) ++counts.nodes, counts.values += node.outputs.size();
  counts.values += graph.inputs().size();
  for (const auto& group : {graph.variables(), graph.states(), graph.constants()})
    for (const auto& value : group)
      ++counts.values, counts.tensors += graph.tensor(value.name) ? 1 : 0;
  if (const auto training = graph.training()) counts.tensors += training->slots;
  return counts;
}

int run_validate(Context& context, const Arguments& arguments) {
  const auto path = arguments.get("GRAPH");
  auto graph = load_graph(context, path);
  if (!arguments.has("file-only")) {
    graph.bind();
    plan_if_shapes_known(context, graph);
  }
  const auto [nodes, values, tensors] = count(graph);
  if (context.json()) {
    print(json_object("graph", path, "sound", true, "bound", !arguments.has("file-only"), "nodes",
                      nodes, "values", values, "tensors", tensors));
    return 0;
  }
  write_result("{}: valid{}; {}, {}, {}\n", path,
               arguments.has("file-only") ? " (file only)" : ", all operators available",
               counted(nodes, "node"), counted(values, "value"), counted(tensors, "tensor"));
  return 0;
}

const bool added_validate = add_command(
    {.name = "validate",
     .doc = "check a graph file: structure, tensor checksums, operators, parameters, shapes",
     .details = "If the shapes of all inputs are known, the graph is also planned, as for a run. "
                "The exit code gives the reason: 4 for the "
                "file, 3 for a missing plugin, 2 for a parameter, 1 for shapes.",
     .positionals = {{"GRAPH", graph_doc}},
     .options = {{"file-only", "", "check only the file; needs no plugins"}},
     .run = run_validate,
     .plugins = Plugins::loads});

}  // namespace
}  // namespace tenon::cli

// tenon validate: everything that can be checked of a graph file.
#include <fmt/format.h>

#include <tenon/graph.hpp>

#include "cli/command.hpp"
#include "cli/print/json_text.hpp"
#include "file/tenon/tenon_file.hpp"
#include "graph/model.hpp"

namespace tenon::cli {
namespace {

int run(Context& context, const Arguments& arguments) {
  const auto path = arguments.get("GRAPH");
  auto graph = Graph::load(context.host(), path);
  if (!arguments.has("file-only")) graph.bind();
  const auto& model = graph.model();
  if (context.json()) {
    print(json_object("graph", path, "sound", true, "bound", !arguments.has("file-only"), "nodes", model.nodes.size(), "values",
                      model.values.size(), "tensors", model.tensors.size()));
    return 0;
  }
  const auto counted = [](std::size_t count, const char* what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); };
  fmt::print("{}: sound{}; {}, {}, {}\n", path, arguments.has("file-only") ? " as a file" : ", and every operator is here",
             counted(model.nodes.size(), "node"), counted(model.values.size(), "value"), counted(model.tensors.size(), "tensor"));
  return 0;
}

const bool added = add_command({.name = "validate",
                                .doc = "check a graph file: structure, checksums of all tensors, operators, parameters, shapes",
                                .details = "The exit code tells what is wrong: 4 the file, 3 a plugin is missing, 2 a parameter, 1 shapes.",
                                .positionals = {{"GRAPH", "a .tenon or graph.json file"}},
                                .options = {{"file-only", "", "only the file itself; needs no plugin"}},
                                .run = run});

}  // namespace
}  // namespace tenon::cli

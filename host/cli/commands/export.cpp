// tenon export: a graph becomes an ONNX model.
#include <fmt/format.h>

#include <tenon/host/onnx.hpp>

#include "cli/command.hpp"
#include "cli/input/graph_file.hpp"
#include "cli/streams.hpp"
#include "io/counted.hpp"

namespace tenon::cli {
namespace {

int run_export(Context& context, const Arguments& arguments) {
  const auto to = arguments.get("output");
  if (to.empty()) throw Failure(FailureKind::usage, "there is no --output to write to", "tenon export net.tenon -o net.onnx");
  if (!to.ends_with(".onnx")) throw Failure(FailureKind::usage, fmt::format("--output is '{}' but must end in .onnx", to));
  onnx::ExportOptions options;
  options.opset = arguments.integer("opset");
  options.note = [](const std::string& text) { tell("note: {}\n", text); };
  const auto graph = load_graph(context, arguments.get("GRAPH"));
  onnx::save(graph, to, options);
  tell("wrote {}: {} of opset {}\n", to, counted(onnx::describe(to).nodes, "node"), options.opset);
  return 0;
}

const bool added_export = add_command(
    {.name = "export",
     .doc = "turn a graph into an ONNX model",
     .details = "Nodes become ONNX's operators, several of them, or nodes of a domain of their own, with a body of ONNX's operators where "
                "there is one, so that other programs run them without the plugin. Weights of more than 256 MiB stand in a file beside the "
                "model. Tenon opens the model as the graph that it was.",
     .positionals = {{"GRAPH", "a .tenon, graph.json or ONNX file"}},
     .options = {{"output", "FILE", "the .onnx file to write", Text{}, "", 'o'},
                 {"opset", "N", "the version of ONNX's operators", Integer{13, 24}, "17"}},
     .run = run_export,
     .plugins = Plugins::runs});

}  // namespace
}  // namespace tenon::cli

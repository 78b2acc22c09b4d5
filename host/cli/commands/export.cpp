// tenon export: converts a graph to an ONNX model.
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
  if (to.empty())
    throw Failure(FailureKind::usage, "--output is required", "tenon export net.tenon -o net.onnx");
  if (!to.ends_with(".onnx"))
    throw Failure(FailureKind::usage, fmt::format("--output is '{}' but must end in .onnx", to));
  onnx::ExportOptions options;
  options.opset = arguments.integer("opset");
  options.note = [](const std::string& text) { write_message("note: {}\n", text); };
  const auto graph = load_graph(context, arguments.get("GRAPH"));
  onnx::save(graph, to, options);
  write_message("wrote {}: {} of opset {}\n", to, counted(onnx::describe(to).nodes, "node"),
                options.opset);
  return 0;
}

const bool added_export =
    add_command({.name = "export",
                 .doc = "convert a graph to an ONNX model",
                 .details = "Each node becomes one or several ONNX operators, or a node in a "
                            "custom domain. Custom nodes have a function body if their "
                            "operator is composite or elementwise. Weights beyond 256 MiB are "
                            "stored in FILE.data. Importing the model restores the original "
                            "graph, unless a note says otherwise.",
                 .positionals = {{"GRAPH", "a .tenon, graph.json or ONNX file"}},
                 .options = {{"output", "FILE", "the .onnx file to write", Text{}, "", 'o'},
                             {"opset", "N", "ONNX opset version", Integer{13, 24}, "17"}},
                 .run = run_export,
                 .plugins = Plugins::runs});

}  // namespace
}  // namespace tenon::cli

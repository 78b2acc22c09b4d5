#include "cli/input/graph_file.hpp"

#include <tenon/host/failure.hpp>
#include <tenon/host/onnx.hpp>
#include <tenon/host/pack.hpp>
#include <tenon/host/session.hpp>

#include "cli/streams.hpp"

namespace tenon::cli {

Graph load_graph(Context& context, const std::string& path, const LoadOptions& options) {
  if (is_pack(path))
    return load_pack(context.host(), path, {.sha256 = context.global().get("trust")}, options);
  if (context.global().has("trust"))
    throw Failure(FailureKind::usage,
                  "--trust applies to packs only, but " + path + " is not a pack",
                  "create a pack with tenon pack");
  if (!onnx::is_model(path)) {
    if (context.global().has("trust-links"))
      throw Failure(FailureKind::usage,
                    "--trust-links applies to ONNX models only, but " + path + " is not one");
    return Graph::load(context.host(), path, options);
  }
  onnx::ImportOptions import_options;
  import_options.trust_links = context.global().has("trust-links");
  import_options.note = [](const std::string& text) { write_message("note: {}\n", text); };
  return onnx::load(context.host(), path, import_options);
}

void plan_if_shapes_known(const Context& context, const Graph& graph) {
  for (const auto& input : graph.inputs())
    if (!input.dtype || !input.shape.known()) return;
  SessionOptions options;
  options.device = context.device();
  Session(graph, options).plan({});
}

std::vector<Option> optimize_options() {
  return {{"no-optimize", "", "run the original graph: replace, fuse and remove no nodes"},
          {"exact", "", "apply only optimizations that keep results bit-identical"}};
}

Optimize read_optimize(const Arguments& arguments) {
  if (arguments.has("no-optimize") && arguments.has("exact"))
    throw Failure(FailureKind::usage, "--no-optimize and --exact cannot be used together",
                  "remove one of them; results are also exact without optimization");
  if (arguments.has("no-optimize")) return Optimize::none;
  return arguments.has("exact") ? Optimize::exact : Optimize::full;
}

Option precision_option() {
  return {"precision", "DTYPE",
          "precision of float32 matrix products and convolutions; bf16 rounds their factors and "
          "accumulates in float32, if the CPU supports it",
          Choice{{"f32", "bf16"}}, "f32"};
}

DType read_precision(const Arguments& arguments) {
  return arguments.get("precision") == "bf16" ? bf16 : f32;
}

}  // namespace tenon::cli

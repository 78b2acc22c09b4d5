#include "cli/input/graph_file.hpp"

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
  onnx::ImportOptions import;
  import.trust_links = context.global().has("trust-links");
  import.note = [](const std::string& text) { write_message("note: {}\n", text);
};
return onnx::load(context.host(), path, import);
}

void plan_if_known(const Context& context, const Graph& graph) {
  for (const auto& input : graph.inputs())
    if (!input.dtype || !input.shape.known()) return;
  SessionOptions options;
  options.device = context.device();
  Session(graph, options).plan({});
}

}  // namespace tenon::cli

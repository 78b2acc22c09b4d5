#include "cli/input/graph_file.hpp"

#include <tenon/host/onnx.hpp>
#include <tenon/host/pack.hpp>

#include "cli/streams.hpp"

namespace tenon::cli {

Graph load_graph(Context& context, const std::string& path, const LoadOptions& options) {
  if (is_pack(path)) return load_pack(context.host(), path, {.sha256 = context.global().get("trust")}, options);
  if (context.global().has("trust"))
    throw Failure(FailureKind::usage, "--trust is for packs, and " + path + " is none", "tenon pack makes packs");
  if (!onnx::is_model(path)) return Graph::load(context.host(), path, options);
  onnx::ImportOptions import;
  import.note = [](const std::string& text) { tell("note: {}\n", text);
};
return onnx::load(context.host(), path, import);
}

}  // namespace tenon::cli

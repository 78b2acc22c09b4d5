#include "cli/input/graph_file.hpp"

#include <tenon/host/onnx.hpp>

#include "cli/streams.hpp"

namespace tenon::cli {

Graph load_graph(Context& context, const std::string& path, const LoadOptions& options) {
  if (!onnx::is_model(path)) return Graph::load(context.host(), path, options);
  onnx::ImportOptions import;
  import.note = [](const std::string& text) { tell("note: {}\n", text);
};
return onnx::load(context.host(), path, import);
}

}  // namespace tenon::cli

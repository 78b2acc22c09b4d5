// The embedded graph: the Tenon graph that an ONNX file was exported from, stored in its metadata
// because ONNX nodes cannot express all of it.
#pragma once
#include <optional>
#include <string>
#include <tenon/host/graph.hpp>

#include "file/tenon/tenon_file.hpp"
#include "onnx/model.hpp"

namespace tenon::onnx {

/// Metadata keys: the graph as a base64-encoded .tenon file without tensor elements, and the
/// digest() of the ONNX graph exported from it.
inline constexpr const char *embedded_graph_key = "tenon.graph",
                            *embedded_digest_key = "tenon.digest";

std::string encode_graph(const GraphModel& graph);
/// Digest of the serialized model `bytes` with this embedded graph.
std::string digest(const std::string& bytes, const GraphModel& graph);

/// Returns the embedded graph with the elements of the model's initializers; nothing if there is
/// none or if anything but these elements has changed since export. If a graph is present but
/// unusable, `why` receives the reason. Needs no plugin.
std::optional<GraphModel> embedded_graph(const Model& model, std::string& why,
                                         bool trust_links = false);

std::string to_base64(std::string_view bytes);
/// Returns nothing if `text` is not valid base64. `name` is used in error messages.
std::optional<FileBytes> from_base64(std::string_view text, const std::filesystem::path& name);

}  // namespace tenon::onnx

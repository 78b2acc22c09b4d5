// The graph that an ONNX file was written from, kept in its metadata: what no ONNX node can say of it.
#pragma once
#include <optional>
#include <string>
#include <tenon/host/graph.hpp>

#include "file/tenon/tenon_file.hpp"
#include "onnx/model.hpp"

namespace tenon::onnx {

/// Keys of a model's metadata: the graph without its tensors' elements, as a .tenon file in base64, and digest() of the ONNX graph that
/// stands for it.
inline constexpr const char *kept_graph_key = "tenon.graph", *kept_digest_key = "tenon.digest";

std::string keep(const GraphModel& graph);
/// Of `bytes`, a model as it is written, with that kept graph.
std::string digest(const std::string& bytes, const GraphModel& graph);

/// The kept graph with the elements of the model's initializers; nothing where there is none, or where something else than these
/// elements has changed since. `why`: what is wrong with one that is there. Needs no plugin.
std::optional<GraphModel> kept_graph(const Model& model, std::string& why, bool trust_links = false);

std::string to_base64(std::string_view bytes);
/// Nothing if it is no such text. `name`: for messages.
std::optional<FileBytes> from_base64(std::string_view text, const std::filesystem::path& name);

}  // namespace tenon::onnx

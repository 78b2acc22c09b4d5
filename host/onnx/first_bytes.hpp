// Detects the kind of a graph file by its first bytes.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace tenon::onnx {

/// Returns up to 16 bytes. Throws Failure (file) if the file cannot be read.
std::string first_bytes(const std::filesystem::path& path);

/// Whether these are the first bytes of a .tenon file.
bool is_tenon_start(std::string_view bytes);
/// Whether these can be the first bytes of an ONNX model: a ModelProto field with its proper wire
/// type. Text never matches: graph.json begins with a brace, which is not such a field.
bool is_model_start(std::string_view bytes);

}  // namespace tenon::onnx

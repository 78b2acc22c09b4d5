// What kind of graph file it is, by its first bytes.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace tenon::onnx {

/// At most 16. Throws Failure (file) where the file cannot be read.
std::string first_bytes(const std::filesystem::path& path);

/// Whether a .tenon file begins so.
bool is_tenon_start(std::string_view bytes);
/// Whether an ONNX model begins so: with a field that models have, written as it must be. Text never does: graph.json begins with a brace,
/// which is no such field.
bool is_model_start(std::string_view bytes);

}  // namespace tenon::onnx

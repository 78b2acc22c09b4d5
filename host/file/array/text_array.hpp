// Arrays of text in .npy files, as numpy saves arrays of str.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tenon/shape.hpp>
#include <vector>

namespace tenon {

struct TextArray {
  Shape shape;
  std::vector<std::string> texts;  // UTF-8, in row-major order
};

/// Returns nullopt if the elements are not text (numpy's U and S). Throws Failure (file) if the
/// file is broken, or a text is not Unicode.
std::optional<TextArray> texts_from_npy(const std::string& name, std::span<const std::byte> bytes);

/// Writes numpy's U, atomically; there are as many texts as the shape has elements.
void write_npy(const std::filesystem::path& path, std::span<const std::string_view> texts,
               const Shape& shape);

}  // namespace tenon

// Single texts in numpy's .npy files: numpy.array("csr") and numpy.array(b"csr").
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace tenon {

/// Nothing where the file holds no single text; letters that are not ASCII become ?. Throws Failure (file) as parse_npy_header().
std::optional<std::string> text_from_npy(const std::string& name, std::span<const std::byte> bytes);

/// A whole file with a text of ASCII letters, as numpy.save writes bytes.
std::string npy_of_text(const std::string& text);

}  // namespace tenon

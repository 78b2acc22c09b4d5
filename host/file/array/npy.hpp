// Arrays in numpy's .npy files.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tenon/host/tensor.hpp>

#include "io/file_memory.hpp"

namespace tenon {

/// Reads a file of version 1.0 to 3.0; the result is always contiguous. A file larger than
/// `map_above` bytes is mapped privately if its elements need no conversion: pages are read on
/// first use, and writes stay in memory. Other files (Fortran order, big-endian, misaligned) are
/// converted. Throws Failure (file) if the file cannot be read, is broken, or has bytes after the
/// array. Python objects are never unpickled.
Tensor read_npy(const std::filesystem::path& path, std::uint64_t map_above = FileMemory::max_read);

/// Writes version 1.0 in C order, atomically. bfloat16, which numpy lacks, is written as ml_dtypes
/// does (see npy_header.hpp).
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

/// The array in a file's bytes, which `owner` keeps alive. `name` is the file's name in messages.
Tensor tensor_from_npy(const std::string& name, std::span<std::byte> bytes,
                       const std::shared_ptr<const void>& owner);

/// Returns nullopt if the file does not hold a single text; non-ASCII characters become `?`. Throws
/// Failure (file) like parse_npy_header().
std::optional<std::string> text_from_npy(const std::string& name, std::span<const std::byte> bytes);

/// A complete file with an ASCII text, as numpy.save writes bytes.
std::string npy_of_text(const std::string& text);

}  // namespace tenon

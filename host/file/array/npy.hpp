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

/// The array of a file of version 1.0 to 3.0. Of a file of more than `map_above` bytes, elements that lie as Tenon wants them are mapped:
/// nothing is read before it is used, and what is written stays in memory. Others (Fortran order, big-endian, not aligned) are converted;
/// the result is always contiguous. Throws Failure (file) for what cannot be read, is broken, or has bytes after the array; Python objects
/// are never unpickled.
Tensor read_npy(const std::filesystem::path& path, std::uint64_t map_above = FileMemory::most_read);

/// Version 1.0, in C order. bfloat16, which numpy lacks, is written as ml_dtypes does (see npy_header.hpp). Whole or not at all.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

/// The array in a file's bytes, kept alive by `owner`. `name` stands in messages.
Tensor tensor_from_npy(const std::string& name, std::span<std::byte> bytes, const std::shared_ptr<const void>& owner);

/// Nothing where the file holds no single text; letters that are not ASCII become ?. Throws Failure (file) as parse_npy_header().
std::optional<std::string> text_from_npy(const std::string& name, std::span<const std::byte> bytes);

/// A whole file with a text of ASCII letters, as numpy.save writes bytes.
std::string npy_of_text(const std::string& text);

}  // namespace tenon

// .tenon files: a graph and its tensors. Nothing here needs a plugin.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "graph/model.hpp"
#include "io/file_memory.hpp"

namespace tenon {

/// Writes the file whole or not at all. The same graph gives the same bytes. Tensors are written from where they are; only strided ones
/// are copied first. Throws Failure (file).
void write_tenon(const GraphModel& model, const std::filesystem::path& path);
/// The same bytes in memory.
std::vector<std::byte> write_tenon(const GraphModel& model);

enum class FileCheck : std::uint8_t {
  structure,   ///< everything but the tensors' own bytes, which are not even looked at
  everything,  ///< the tensors' checksums and the zeros between them too
};

/// Tensors point into the file's memory, may be written (the file never changes), and keep the memory alive. A file of more than
/// `map_above` bytes is mapped: tensors cost nothing until they are looked at, and who uses them asks BackingFiles afterwards. Throws
/// Failure (file) with one sentence about what is wrong.
GraphModel read_tenon(const std::filesystem::path& path, FileCheck check = FileCheck::structure,
                      std::uint64_t map_above = FileMemory::most_read);

/// A file that is in memory already, aligned to 64 bytes: its tensors point into the bytes, and hold the owner.
struct FileBytes {
  std::filesystem::path path;  // for messages
  std::span<std::byte> bytes;
  std::shared_ptr<const void> owner;
  bool may_change = false;  // others may write to them
};
GraphModel read_tenon(const FileBytes& file, FileCheck check = FileCheck::structure);

}  // namespace tenon

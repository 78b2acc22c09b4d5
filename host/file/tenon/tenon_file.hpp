// .tenon files: a graph and its tensors. No function here needs a plugin.
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

/// Writes the file atomically. The same graph gives the same bytes. Contiguous tensors are written
/// from where they are; only strided ones are copied first. Throws Failure (file).
void write_tenon(const GraphModel& model, const std::filesystem::path& path);
/// Returns the same bytes in memory.
std::vector<std::byte> write_tenon(const GraphModel& model);

enum class FileCheck : std::uint8_t {
  structure,   ///< everything but the tensors' bytes, which are not read
  everything,  ///< also the tensors' checksums and the zeros between them
};

/// The tensors share ownership of the file's memory and may be written (the file never changes). A
/// file larger than `map_above` bytes is mapped: tensors cost nothing until they are read, and
/// their users call BackingFiles afterwards. Throws Failure (file) with one sentence about the
/// fault.
GraphModel read_tenon(const std::filesystem::path& path, FileCheck check = FileCheck::structure,
                      std::uint64_t map_above = FileMemory::max_read);

/// A file that is already in memory, aligned to 64 bytes: its tensors point into the bytes and
/// share `owner`.
struct FileBytes {
  std::filesystem::path path;  // for messages
  std::span<std::byte> bytes;
  std::shared_ptr<const void> owner;
  bool may_change = false;  // others may write to the bytes
};
GraphModel read_tenon(const FileBytes& file, FileCheck check = FileCheck::structure);

}  // namespace tenon

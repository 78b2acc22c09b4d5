// A whole file as memory: small files are read, large ones mapped.
#pragma once
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "io/mapped_range.hpp"
#include "io/open_file.hpp"

namespace tenon {

/// Content that was read does not change. Pages of mapped files are read on first access, so
/// opening takes the same time for any size; they show later writes to the file, which
/// require_unchanged() detects. Replacing the file by renaming does not affect a mapping. Accessing
/// pages that are gone because the file was truncated raises SIGBUS, unless install_mapping_guard()
/// was called. Share the pointer with anything that points into the bytes, for example as the owner
/// of a borrowed Tensor. Thread-safe.
class FileMemory : public std::enable_shared_from_this<FileMemory> {
 public:
  static constexpr std::uint64_t max_read = std::uint64_t{64} << 20;
  /// Maps files larger than `map_above` bytes. Throws Failure (file) with the reason, also if the
  /// file changes while it is read.
  static std::shared_ptr<const FileMemory> open(const std::filesystem::path& path,
                                                std::uint64_t map_above = max_read);
  /// Same for a file that is already open, called `path` in messages.
  static std::shared_ptr<const FileMemory> of(const std::filesystem::path& path, OpenFile file,
                                              std::uint64_t map_above = max_read);
  /// Returns the mapped file that contains the byte; null if there is none. The caller must hold
  /// what the byte belongs to.
  static std::shared_ptr<const FileMemory> at(const void* address);
  /// Returns whether at() can find anything; only reads a counter.
  static bool any_mapped() { return MappedRange::count() != 0; }

  ~FileMemory();
  FileMemory(const FileMemory&) = delete;
  FileMemory& operator=(const FileMemory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  bool mapped() const { return range_ != nullptr; }

  /// Returns the same bytes for writing; writes stay in this process and never change the file.
  /// Aligned to 64 bytes; null for an empty file.
  std::byte* data() const { return data_; }

  /// For a mapped file, throws Failure (file) if its size or modification time changed since it was
  /// opened, or if pages of it were lost. Costs an fstat. Writes through other processes' mappings
  /// are not detected in time; such writers and readers must coordinate on their own.
  void require_unchanged() const;

 private:
  FileMemory(std::filesystem::path path, OpenFile file);
  void read();
  void map();

  std::filesystem::path path_;
  OpenFile file_;  // open only for a mapped file
  std::size_t size_;
  std::byte* data_ = nullptr;
  MappedRange* range_ = nullptr;
};

}  // namespace tenon

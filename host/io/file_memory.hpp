// A whole file as memory: a small one is read, a large one is mapped.
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

/// What is read stays as it was. Of what is mapped, pages are read when they are first looked at, so opening costs the same for any size,
/// and they show what is written to the file later: require_unchanged() finds that. Replacing the file by renaming leaves a mapping as it
/// was. Pages that are gone because the file was cut short end the process by SIGBUS, unless install_mapping_guard() was called.
/// Share the pointer with whatever points into the bytes, e.g. as the owner of a borrowed Tensor. Threads: any.
class FileMemory : public std::enable_shared_from_this<FileMemory> {
 public:
  static constexpr std::uint64_t most_read = std::uint64_t{64} << 20;
  /// Files of more than `map_above` bytes are mapped. Throws Failure (file) with the reason, also where the file changes while it is read.
  static std::shared_ptr<const FileMemory> open(const std::filesystem::path& path, std::uint64_t map_above = most_read);
  /// The same of a file that is open already, called `path`.
  static std::shared_ptr<const FileMemory> of(const std::filesystem::path& path, OpenFile file, std::uint64_t map_above = most_read);
  /// The mapped file in which the byte lies; null where it lies elsewhere. Who asks holds what the byte belongs to.
  static std::shared_ptr<const FileMemory> at(const void* address);
  /// Whether at() can find anything: one look at a counter.
  static bool any_mapped() { return MappedRange::count() != 0; }

  ~FileMemory();
  FileMemory(const FileMemory&) = delete;
  FileMemory& operator=(const FileMemory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  bool mapped() const { return range_ != nullptr; }

  /// The same bytes for those who must write them: what is written stays in this process, the file never changes. Aligned to 64 bytes;
  /// null for an empty file.
  std::byte* data() const { return data_; }

  /// Of a mapped file: throws Failure (file) that names it where its size or its time of modification are not those of when it was opened,
  /// or where pages of it were lost. Costs an fstat. Others may still change what they have mapped themselves: nobody is told of that in
  /// time, so such writers and readers must agree on their own.
  void require_unchanged() const;

 private:
  FileMemory(std::filesystem::path path, OpenFile file);
  void read();
  void map();

  std::filesystem::path path_;
  OpenFile file_;  // of a mapped file; else closed
  std::size_t size_;
  std::byte* data_ = nullptr;
  MappedRange* range_ = nullptr;
};

}  // namespace tenon

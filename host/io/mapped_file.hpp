// A whole file as memory.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace tenon {

/// Pages are read when they are first looked at, so opening costs the same for any size. Share the pointer with whatever points into the
/// bytes, e.g. as the owner of a borrowed Tensor. Replacing the file by renaming leaves the mapping as it was; cutting it short in place
/// makes the lost pages fatal to touch, as for every program that maps files: writers must rename, as AtomicFile does.
/// Threads: any.
class MappedFile {
 public:
  /// Throws Failure (file) with the reason.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

  /// The same bytes for those who must write them: what is written stays in this process, the file never changes. Null for an empty file.
  std::byte* data() const { return data_; }

 private:
  MappedFile(std::filesystem::path path, std::byte* data, std::size_t size) : path_(std::move(path)), data_(data), size_(size) {}

  std::filesystem::path path_;
  std::byte* data_;
  std::size_t size_;
};

}  // namespace tenon

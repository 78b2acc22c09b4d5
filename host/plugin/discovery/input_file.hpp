// A candidate file, open for reading. It is read with pread and never mapped: a mapped file that somebody cuts off is a SIGBUS.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>

#include "io/open_file.hpp"

namespace tenon {

class InputFile {
 public:
  /// Throws PluginError (not a plugin) where the path cannot be opened or is no regular file, as what is `needed` is. Never waits, not even
  /// on a pipe.
  explicit InputFile(const std::filesystem::path& path, const char* needed = "a shared object");

  int descriptor() const { return file_.descriptor(); }
  const struct stat& status() const { return file_.status(); }
  std::uint64_t size() const { return file_.size(); }

  /// Fills `bytes` from `offset` on. Throws PluginError where the file ends before, or cannot be read.
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;

 private:
  OpenFile file_;
};

/// What tells a file from one that took its place or was written to.
struct FileStamp {
  FileStamp() = default;
  explicit FileStamp(const struct stat& status);
  /// Of the file at the path now; an empty one where there is none.
  static FileStamp of(const std::filesystem::path& path);
  bool operator==(const FileStamp&) const = default;

  std::uint64_t device = 0, number = 0, size = 0;
  std::int64_t written_s = 0, written_ns = 0, changed_s = 0, changed_ns = 0;
};

/// XXH3 (64 bits) of everything in the file. `also` gets each part that is hashed, in order: who copies in it has the hash of the copy,
/// whatever happens to the file meanwhile.
std::uint64_t content_hash(const InputFile& file, const std::function<void(std::span<const std::byte>)>& also = {});

/// SHA-256 of everything in the file, in hexadecimal.
std::string sha256_of(const InputFile& file);

}  // namespace tenon

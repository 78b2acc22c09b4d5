// A candidate file, open for reading. It is read with pread and never mapped, because truncating a
// mapped file raises SIGBUS.
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
  /// Throws PluginError (not a plugin) if the path cannot be opened or is not a regular file;
  /// `needed` names what the caller expects. Never blocks, not even on a pipe.
  explicit InputFile(const std::filesystem::path& path, const char* needed = "a shared object");

  int descriptor() const { return file_.descriptor(); }
  const struct stat& status() const { return file_.status(); }
  std::uint64_t size() const { return file_.size(); }

  /// Fills `bytes` starting at `offset`. Throws PluginError if the file ends before that or cannot
  /// be read.
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;

 private:
  OpenFile file_;
};

/// Identifies a file's state, to detect that it was replaced or written to.
struct FileStamp {
  FileStamp() = default;
  explicit FileStamp(const struct stat& status);
  /// Returns the stamp of the file currently at the path; an empty one if there is none.
  static FileStamp of(const std::filesystem::path& path);
  bool operator==(const FileStamp&) const = default;

  std::uint64_t device = 0, number = 0, size = 0;
  std::int64_t modified_s = 0, modified_ns = 0, changed_s = 0, changed_ns = 0;
};

/// Returns the XXH3 (64 bits) of the file's content. `sink` gets each chunk that is hashed, in
/// order, so that a copy made there has exactly this hash even if the file changes meanwhile.
std::uint64_t content_hash(const InputFile& file,
                           const std::function<void(std::span<const std::byte>)>& sink = {});

/// Returns the SHA-256 of the file's content in hexadecimal.
std::string sha256_of(const InputFile& file);

}  // namespace tenon

// Atomic replacement of files.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "io/open_file.hpp"

namespace tenon {

/// A file under construction. The old file stays unchanged until commit(), and also if anything
/// fails: a full disk, an exception, a kill. No temporary file is left behind except by a kill; on
/// file systems with nameless files (ext4, xfs, btrfs, tmpfs), only by a kill between naming and
/// renaming. The next AtomicFile of the same path removes it: a lock that the kernel releases shows
/// whether its writer is alive. Symbolic links are followed; the old file's mode is kept. Every
/// function throws Failure with path and reason: (file) if the path cannot be written at all,
/// (failed) if writing fails. Not thread-safe.
class AtomicFile {
 public:
  /// Files that need not survive a power failure, such as caches, are not `synced`; they also skip
  /// the removal of leftovers.
  explicit AtomicFile(const std::filesystem::path& path, bool synced = true);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Writes a file with this content.
  static void write_text(const std::filesystem::path& path, std::string_view text,
                         bool synced = true);

  void write(std::span<const std::byte> bytes) { write_at(size_, bytes); }  ///< appends
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// writes anywhere; gaps read as zeros
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  /// grows with zeros, or truncates
  void resize(std::uint64_t size);

  /// Makes the file writable only by the user, whatever the umask and the old file's mode. Call
  /// before commit().
  void restrict_to_user();

  std::uint64_t size() const { return size_; }

  /// Syncs the file, replaces the old one and syncs the folder. Must be the last call.
  void commit();

 private:
  void remove_leftovers() const;
  void open_temporary();
  bool open_nameless();
  bool open_named();
  void name_temporary();
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;    // as passed by the caller, for messages
  std::filesystem::path target_;  // with links resolved
  std::filesystem::path folder_;
  std::filesystem::path temporary_;  // empty while the file has no name
  OpenFile file_{-1};
  bool synced_;
  unsigned mode_ = 0;  // the old file's mode; 0 if there is none
  std::uint64_t size_ = 0;
};

}  // namespace tenon

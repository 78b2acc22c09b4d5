// A file that is written whole or not at all.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "io/open_file.hpp"

namespace tenon {

/// A file under construction. Until commit() the old file of that name is as it was, and so it stays where anything fails: a full disk, an
/// exception, a kill. No temporary file is left behind, but by a kill: where the file system knows nameless files, as ext4, xfs, btrfs and
/// tmpfs do, by one in the instant between naming and renaming alone. The next AtomicFile of that path removes it: a lock that the kernel
/// releases tells whether its writer lives. A symbolic link is followed; the mode of the old file is kept. Every function throws Failure
/// with path and reason: (file) where the path cannot be written at all, (failed) where writing fails. Threads: one at a time.
class AtomicFile {
 public:
  /// What need not outlast a power cut, as a cache's files, is not `synced`, and leaves alone what kills left.
  explicit AtomicFile(const std::filesystem::path& path, bool synced = true);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// The whole file is this text.
  static void write_text(const std::filesystem::path& path, std::string_view text, bool synced = true);

  void write(std::span<const std::byte> bytes) { write_at(size_, bytes); }  ///< at the end
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);  ///< anywhere; gaps read as zeros
  void resize(std::uint64_t size);                                        ///< grows with zeros, or cuts

  /// Nobody but the user may write to it, whatever the umask and the old file's mode. Before commit().
  void keep_from_others();

  std::uint64_t size() const { return size_; }

  /// Syncs the file, puts it in the place of the old one and syncs the folder. The last call.
  void commit();

 private:
  void remove_leftovers() const;
  void open_temporary();
  bool open_nameless();
  bool open_named();
  void name_temporary();
  [[noreturn]] void fail(int error) const;

  std::filesystem::path path_;    // as the caller said it, for messages
  std::filesystem::path target_;  // with links followed
  std::filesystem::path folder_;
  std::filesystem::path temporary_;  // empty: the file has no name yet
  OpenFile file_{-1};
  bool synced_;
  unsigned mode_ = 0;  // of the old file; 0: there is none
  std::uint64_t size_ = 0;
};

}  // namespace tenon

// Files opened for reading, with readable errors, and paths for messages.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <utility>

namespace tenon {

/// Owns a file descriptor.
class OpenFile {
 public:
  /// Throws Failure (file) with a reason that distinguishes a missing file, a missing folder, a
  /// folder, a pipe or device, and an unreadable file.
  static OpenFile for_reading(const std::filesystem::path& path);

  /// Opens whatever is at the path; status() tells what. Never blocks, not even on a pipe. On
  /// failure there is no descriptor, and errno is set.
  static OpenFile open_any(const std::filesystem::path& path);

  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(int descriptor, const struct stat& status) : descriptor_(descriptor), status_(status) {}
  OpenFile(OpenFile&& other) noexcept : descriptor_(other.release()), status_(other.status_) {}
  OpenFile& operator=(OpenFile&& other) noexcept;
  ~OpenFile();

  int descriptor() const { return descriptor_; }
  const struct stat& status() const { return status_; }  ///< when it was opened for reading
  std::uint64_t size() const { return static_cast<std::uint64_t>(status_.st_size); }
  /// Returns whether the path still leads to this file. A symbolic link as last component counts as
  /// a different file.
  bool is_at(const std::filesystem::path& path) const;
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
  struct stat status_ {};
};

/// Returns the path as absolute, without `.` and `..`, unless a symbolic link before a `..` would
/// make that a different file.
std::filesystem::path absolute_path(const std::filesystem::path& path);

}  // namespace tenon

// A file opened for reading, with the reason in words where that fails.
#pragma once
#include <cstdint>
#include <filesystem>
#include <utility>

namespace tenon {

/// Owns a file descriptor.
class OpenFile {
 public:
  /// Throws Failure (file) that tells a missing file, a missing folder, a folder, a pipe or device, and an unreadable file apart.
  static OpenFile for_reading(const std::filesystem::path& path);

  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(OpenFile&& other) noexcept : descriptor_(other.release()), size_(other.size_) {}
  OpenFile& operator=(OpenFile&& other) noexcept;
  ~OpenFile();

  int descriptor() const { return descriptor_; }
  std::uint64_t size() const { return size_; }  ///< when it was opened for reading
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace tenon

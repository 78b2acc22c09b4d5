// Limit on the memory that reading a file may use.
#pragma once
#include <cstdint>
#include <filesystem>

namespace tenon::onnx {

/// Entries are charged before their memory is allocated, since an empty node takes 2 bytes in the
/// file but about a hundred in memory. Including the file itself, if it is small enough to be read
/// rather than mapped, total memory stays within 8 times the file size plus 64 MiB.
class Budget {
 public:
  explicit Budget(std::filesystem::path path) : path_(std::move(path)) {}
  static Budget for_file(const std::filesystem::path& path, std::uint64_t file_size);

  /// Throws Failure (file) naming `what`, a plural noun such as "nodes", if the charge exceeds what
  /// is left.
  void charge(std::uint64_t count, std::uint64_t size, const char* what);
  /// Returns bytes that were charged and have been freed.
  void give_back(std::uint64_t bytes) { left_ += bytes; }
  /// Extends the budget for another file of `bytes` bytes.
  void add(std::uint64_t bytes);
  std::uint64_t left() const { return left_; }

 private:
  std::filesystem::path path_;
  std::uint64_t left_ = 0;
};

}  // namespace tenon::onnx

// How much memory reading a file may take.
#pragma once
#include <cstdint>
#include <filesystem>

namespace tenon::onnx {

/// Entries of a file are charged before there is memory for them: an empty node has 2 bytes in a file and a hundred in memory. With the
/// file itself, where it is small enough to be read, this stays within 8 times the file and 64 MiB.
class Budget {
 public:
  explicit Budget(std::filesystem::path path) : path_(std::move(path)) {}
  static Budget for_file(const std::filesystem::path& path, std::uint64_t file_size);

  /// Throws Failure (file) that names `what` where it is more than is left. `what` is in the plural: nodes.
  void charge(std::uint64_t count, std::uint64_t size, const char* what);
  /// What was charged and is no longer there.
  void give_back(std::uint64_t bytes) { left_ += bytes; }
  /// Another file, with bytes of its own.
  void add(std::uint64_t bytes);
  std::uint64_t left() const { return left_; }

 private:
  std::filesystem::path path_;
  std::uint64_t left_ = 0;
};

}  // namespace tenon::onnx

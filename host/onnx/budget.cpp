#include "onnx/budget.hpp"

#include "file/tenon/refuse_file.hpp"
#include "io/readable_bytes.hpp"

namespace tenon::onnx {

// The rest of 8 times the file and 64 MiB is the file's own, and what is not charged: lists of functions, the arena's last chunk.
Budget Budget::for_file(const std::filesystem::path& path, std::uint64_t file_size) {
  Budget budget(path);
  budget.left_ = std::uint64_t{48} << 20;
  budget.add(file_size);
  return budget;
}

void Budget::add(std::uint64_t bytes) {
  left_ += 6 * bytes;  // no file is so long that this would not fit
}

void Budget::charge(std::uint64_t count, std::uint64_t size, const char* what) {
  std::uint64_t bytes = 0;
  const bool overflow = __builtin_mul_overflow(count, size, &bytes);
  if (overflow || bytes > left_)
    refuse_file(path_,
                "{} {} need {} of memory, and what is left for a file of this size is {}: it was made to exhaust memory, or is damaged",
                count, what, overflow ? "more than 16 EiB" : readable_bytes(bytes), readable_bytes(left_));
  left_ -= bytes;
}

}  // namespace tenon::onnx

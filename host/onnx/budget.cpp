#include "onnx/budget.hpp"

#include "file/tenon/refuse_file.hpp"
#include "io/counted.hpp"

namespace tenon::onnx {

// The limit is 8 times the file size plus 64 MiB. What this budget does not hand out is left for
// the file itself and for memory that is not charged: function lists and the unused rest of the
// arena's last chunk.
Budget Budget::for_file(const std::filesystem::path& path, std::uint64_t file_size) {
  Budget budget(path);
  budget.left_ = std::uint64_t{48} << 20;
  budget.add(file_size);
  return budget;
}

void Budget::add(std::uint64_t bytes) {
  left_ += 6 * bytes;  // no file is large enough for this to overflow
}

void Budget::charge(std::uint64_t count, std::uint64_t size, const char* what) {
  std::uint64_t bytes = 0;
  const bool overflow = __builtin_mul_overflow(count, size, &bytes);
  if (overflow || bytes > left_)
    refuse_file(path_,
                "{} {} need {} of memory, but a file of this size may use only {} more: the file "
                "is damaged or malicious",
                count, what, overflow ? "more than 16 EiB" : readable_bytes(bytes),
                readable_bytes(left_));
  left_ -= bytes;
}

}  // namespace tenon::onnx

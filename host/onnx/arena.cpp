#include "onnx/arena.hpp"

#include <algorithm>

namespace tenon::onnx {

std::byte* Arena::take(std::size_t bytes) {
  constexpr auto alignment = alignof(std::max_align_t);
  bytes = (bytes + alignment - 1) / alignment * alignment;
  if (bytes > left_) {
    constexpr std::size_t first = std::size_t{1} << 14, max_size = std::size_t{1} << 20;
    const auto size = std::max(bytes, chunks_.empty() ? first : max_size);
    // left uninitialized: pages that are never touched use no physical memory
    chunks_.emplace_back(new std::byte[size]);
    next_ = chunks_.back().get();
    left_ = size;
  }
  std::byte* const taken = next_;
  next_ += bytes;
  left_ -= bytes;
  return taken;
}

}  // namespace tenon::onnx

// Per-chunk arrays: partial gradients that are added afterwards, or scratch memory.
#pragma once
#include "onednn.hpp"

namespace onednn {

/// One array of floats for each chunk.
class ChunkArrays {
 public:
  ChunkArrays(std::int64_t count, std::size_t bytes)
      : count_(count),
        size_(static_cast<std::int64_t>(bytes / sizeof(float))),
        stride_(static_cast<std::int64_t>(aligned(bytes) / sizeof(float))),
        memory_(aligned(bytes) * static_cast<std::size_t>(count)) {}

  float* operator[](std::int64_t chunk) const {
    return reinterpret_cast<float*>(memory_.data()) + chunk * stride_;
  }

  /// Adds all other arrays to the first one, in order, and returns it.
  const float* add_up(const tenon::Call& call) const {
    call.parallel_for(size_, 16384, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t chunk = 1; chunk < count_; ++chunk)
        for (auto i = begin; i < end; ++i) (*this)[0][i] += (*this)[chunk][i];
    });
    return (*this)[0];
  }

 private:
  std::int64_t count_, size_, stride_;
  Buffer memory_;
};

}  // namespace onednn

// Placement of one buffer after the other, each where it fits best among those that are placed and alive with it.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "plan/memory/alive_buffers.hpp"
#include "plan/memory/placement.hpp"

namespace tenon {

/// Sizes of buffers must be multiples of buffer_alignment.
class GreedyPlacer {
 public:
  explicit GreedyPlacer(std::span<const Buffer> buffers) : buffers_(buffers), placed_(buffers), offsets_(buffers.size()) {}

  /// Places the buffers in this order, each into the smallest gap that is free all its life, and the lowest one of these. Stops at one that
  /// does not fit below `limit`, or once it has looked at `work` pairs of buffers, and gives its place in the order; order.size(): all fit.
  std::size_t place(std::span<const std::uint32_t> order, std::int64_t limit, std::int64_t& work);

  const std::vector<std::int64_t>& offsets() const { return offsets_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  struct Interval {
    std::int64_t begin, end;
  };
  std::int64_t best_gap(std::int64_t bytes);

  std::span<const Buffer> buffers_;
  AliveBuffers placed_;
  std::vector<std::int64_t> offsets_;
  std::vector<Interval> taken_;  // of the buffers that are alive with the one at hand
  std::int64_t bytes_ = 0;
};

}  // namespace tenon

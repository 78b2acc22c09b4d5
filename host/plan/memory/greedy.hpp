// Greedy best-fit placement of buffers, one at a time, among the placed buffers that are alive at
// the same time, and the orders in which they are placed.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "plan/memory/alive_buffers.hpp"
#include "plan/memory/placement.hpp"

namespace tenon {

/// Sorted by first or last step.
std::vector<std::uint32_t> order_by(std::uint32_t Buffer::*step, std::span<const Buffer> buffers);

/// Orders of Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020:
/// largest buffer first; and by breadth: buffers alive at the step with the most bytes alive first,
/// larger ones before smaller ones.
std::vector<std::uint32_t> order_by_size(std::span<const Buffer> buffers);
std::vector<std::uint32_t> order_by_breadth(std::span<const Buffer> buffers);

/// Buffer sizes must be multiples of buffer_alignment.
class GreedyPlacer {
 public:
  explicit GreedyPlacer(std::span<const Buffer> buffers)
      : buffers_(buffers), placed_(buffers), offsets_(buffers.size()) {}

  /// Places the buffers in this order, each into the smallest gap that is free during its lifetime,
  /// the lowest of equal ones. Stops at the first buffer that does not fit below `limit` or when
  /// `work`, a budget of buffer pairs, is exhausted. Returns the index in `order` where it stopped,
  /// or order.size() if all fit.
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
  std::vector<Interval> occupied_;  // by buffers that are alive together with the current one
  std::int64_t bytes_ = 0;
};

}  // namespace tenon

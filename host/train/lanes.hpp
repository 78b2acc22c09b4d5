// Adds the micro-batches of a step that one process computes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <tenon/lanes.hpp>
#include <utility>

namespace tenon {

/// The sum of micro-batches [begin, begin + count), count at least 1, in the order of the balanced
/// tree (left_lanes). `make(lane, place)` returns a micro-batch's value, in ascending order;
/// `add(left, right)` adds right, which it may consume, to left. `place` is the index of one of
/// ceil(log2(count)) + 1 slots that hold a value each: make() may overwrite an earlier value of its
/// slot.
template <class Make, class Add>
auto sum_of_lanes(std::int64_t begin, std::int64_t count, Make&& make, Add&& add,
                  std::size_t place = 0) -> decltype(make(begin, place)) {
  if (count == 1) return make(begin, place);
  const auto left_count = left_lanes(count);
  auto left = sum_of_lanes(begin, left_count, make, add, place);
  auto right = sum_of_lanes(begin + left_count, count - left_count, make, add, place + 1);
  add(left, std::move(right));
  return left;
}

}  // namespace tenon

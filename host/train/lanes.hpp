// How the lanes of a step are added where one process has them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <tenon/lanes.hpp>
#include <utility>

namespace tenon {

/// The sum of lanes [begin, begin + count), count at least 1, by the balanced tree (left_lanes). `make(lane, place)` gives a lane's value,
/// in ascending order of the lanes; `add(left, right)` adds right, which it may use up, to left. A place is one of ceil(log2(count)) + 1
/// that hold a value each: make() may put a new one where an earlier one was.
template <class Make, class Add>
auto sum_of_lanes(std::int64_t begin, std::int64_t count, Make&& make, Add&& add, std::size_t place = 0) -> decltype(make(begin, place)) {
  if (count == 1) return make(begin, place);
  const auto left_count = left_lanes(count);
  auto left = sum_of_lanes(begin, left_count, make, add, place);
  auto right = sum_of_lanes(begin + left_count, count - left_count, make, add, place + 1);
  add(left, std::move(right));
  return left;
}

}  // namespace tenon

// Adds the micro-batches of a step that one process computes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <tenon/host/micro_batches.hpp>
#include <utility>

namespace tenon {

/// The sum of micro-batches [begin, begin + count), count at least 1, in the order of the balanced
/// tree (left_micro_batches). `make(micro_batch, slot)` returns a micro-batch's value, in ascending
/// order; `add(left, right)` adds right, which it may consume, to left. `slot` is the index of one
/// of ceil(log2(count)) + 1 slots that hold a value each: make() may overwrite an earlier value of
/// its slot.
template <class Make, class Add>
auto sum_micro_batches(std::int64_t begin, std::int64_t count, Make&& make, Add&& add,
                       std::size_t slot = 0) -> decltype(make(begin, slot)) {
  if (count == 1) return make(begin, slot);
  const auto left_count = left_micro_batches(count);
  auto left = sum_micro_batches(begin, left_count, make, add, slot);
  auto right = sum_micro_batches(begin + left_count, count - left_count, make, add, slot + 1);
  add(left, std::move(right));
  return left;
}

}  // namespace tenon

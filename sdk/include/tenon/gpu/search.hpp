// Binary search in a sorted list, in the body of a CUDA kernel or in a CPU kernel: row ids,
// columns, and row starts of sparse tensors. A search takes about log2(count) steps. The list must
// be in ascending order; equal numbers are allowed. For an unsorted list the result is an index
// within the list, but not a meaningful one.
#pragma once
#include <cstdint>

#include "../fn.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// Returns the index of the first number that is at least `number` in an ascending list; `count` if
/// all are less, so 0 for an empty list.
///
/// Example: the row of stored value i in a csr matrix.
///
///     const std::int64_t row = tenon::gpu::first_not_below(x.row_starts, x.rows + 1, i + 1) - 1;
TENON_FN inline std::int64_t first_not_below(const std::int64_t* list, std::int64_t count,
                                             std::int64_t number) {
  std::int64_t low = 0, high = count;
  while (low < high) {
    const auto middle = low + (high - low) / 2;
    if (list[middle] < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// Returns the index of `number` in an ascending list, the first one if it occurs several times, or
/// -1 if it does not occur.
///
/// Example: `tenon::gpu::index_of(x.row_ids, x.rows, row)` is the position at which a row_sparse
/// tensor stores row `row`, or -1 if it does not store it.
TENON_FN inline std::int64_t index_of(const std::int64_t* list, std::int64_t count,
                                      std::int64_t number) {
  const auto index = first_not_below(list, count, number);
  return index < count && list[index] == number ? index : -1;
}

/// The former name of index_of().
[[deprecated("use index_of; until 0.4")]] TENON_FN inline std::int64_t place_of(
    const std::int64_t* list, std::int64_t count, std::int64_t number) {
  return index_of(list, count, number);
}

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop

// Binary search in a sorted list, from the body of a CUDA kernel or from a CPU kernel: row ids, columns, and row starts of sparse tensors.
// A search takes about log2(count) steps. The list must ascend; equal numbers are allowed. Of any other list the result is a place within
// the list, but not a meaningful one.
#pragma once
#include <cstdint>

#include "../fn.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// The first place of an ascending list whose number is `number` or more; `count` if all are less, so 0 for an empty list.
///
/// Example: the row of stored value i in a csr matrix.
///
///     const std::int64_t row = tenon::gpu::first_not_below(x.row_starts, x.rows + 1, i + 1) - 1;
TENON_FN inline std::int64_t first_not_below(const std::int64_t* list, std::int64_t count, std::int64_t number) {
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

/// The place of `number` in an ascending list, the first one if it occurs several times; -1 if it does not occur.
///
/// Example: `tenon::gpu::place_of(x.row_ids, x.rows, row)` is where a row_sparse tensor stores row `row`, -1 if it stores none.
TENON_FN inline std::int64_t place_of(const std::int64_t* list, std::int64_t count, std::int64_t number) {
  const auto place = first_not_below(list, count, number);
  return place < count && list[place] == number ? place : -1;
}

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop

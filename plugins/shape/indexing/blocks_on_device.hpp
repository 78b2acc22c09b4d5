// Blocks of elements selected by a list of indices on a CUDA device, and the gradient of this
// selection.
#pragma once
#include <tenon/gpu/search.hpp>
#include <tenon/gpu/sort.hpp>

#include "../../shared/rows.hpp"
#include "shared/box_walk.hpp"

/// A list of indices of blocks of `size` elements. It applies to each of several slabs of data with
/// `rows` blocks each.
struct BlockList {
  const std::int64_t* numbers;
  std::int64_t count, rows, size, outer = 1;
};

/// Row i of output, in units that divide its size in bytes.
template <int bytes>
struct GatherRow {
  BlockList list;  ///< sizes in units
  const Unit<bytes>* data;
  Unit<bytes>* output;

  TENON_DEVICE void operator()(std::int64_t i, std::int64_t first, std::int64_t step) const {
    const auto outer_index = list.outer == 1 ? 0 : i / list.count,
               row = list.numbers[i - outer_index * list.count];
    const auto* const from = data + (outer_index * list.rows + row) * list.size;
    for (auto u = first; u < list.size; u += step)
      output[i * list.size + u] = row < 0 ? Unit<bytes>{} : from[u];
  }
};

template <int bytes>
void gather_as(const tenon::Call& call, BlockList list, const std::byte* data, std::byte* output) {
  list.size /= bytes;
  for_each_row(call, list.outer * list.count, list.size,
               GatherRow<bytes>{list, reinterpret_cast<const Unit<bytes>*>(data),
                                reinterpret_cast<Unit<bytes>*>(output)});
}

/// output = the listed blocks, contiguous. The sizes in `list` are in bytes.
inline void gather(const tenon::Call& call, const BlockList& list, const std::byte* data,
                   std::byte* output) {
  const auto all = reinterpret_cast<std::uintptr_t>(data) |
                   reinterpret_cast<std::uintptr_t>(output) |
                   static_cast<std::uintptr_t>(list.size);
  if (all % 16 == 0) return gather_as<16>(call, list, data, output);
  if (all % 8 == 0) return gather_as<8>(call, list, data, output);
  if (all % 4 == 0) return gather_as<4>(call, list, data, output);
  if (all % 2 == 0) return gather_as<2>(call, list, data, output);
  gather_as<1>(call, list, data, output);
}

/// Indices out of range become one past the last row, which sorts to the end.
struct RowToUse {
  const std::int64_t* numbers;
  std::int64_t rows;

  TENON_FN std::int64_t operator()(std::int64_t i) const {
    return numbers[i] < 0 ? rows : numbers[i];
  }
};

/// Whether position i of the sorted indices is the first use of a row.
struct IsFirstUse {
  const std::int64_t* keys;
  std::int64_t rows;

  TENON_FN std::int64_t operator()(std::int64_t i) const {
    return keys[i] < rows && (i == 0 || keys[i - 1] != keys[i]);
  }
};

/// The sum of the gradients of all uses of a block, in the order of the list, for block `key` of
/// `to`, or for the next one if there are row_ids.
template <class T>
struct AddUses {
  using Sum = std::conditional_t<sizeof(T) == 2, float, T>;
  tenon::gpu::Sorted uses;
  BlockList list;
  const T* dy;
  T* to;
  std::int64_t* row_ids;
  const std::int64_t* offsets;

  TENON_DEVICE void operator()(std::int64_t i, std::int64_t first, std::int64_t step) const {
    if (!IsFirstUse{uses.keys, list.rows}(i)) return;
    const auto key = uses.keys[i], row = row_ids ? offsets[i] : key;
    if (row_ids && first == 0) row_ids[row] = key;
    const auto end =
        end_of_uses(i, key);  // computed first, so that loads do not wait for each other
    for (std::int64_t outer_index = 0; outer_index < list.outer; ++outer_index)
      for (auto j = first; j < list.size; j += step) {
        Sum sum = 0;
        for (auto use = i; use < end; ++use)
          sum +=
              static_cast<Sum>(dy[(outer_index * list.count + uses.indices[use]) * list.size + j]);
        to[(outer_index * list.rows + row) * list.size + j] = static_cast<T>(sum);
      }
  }

 private:
  /// Searches with growing steps, since most blocks are used once or twice.
  TENON_DEVICE std::int64_t end_of_uses(std::int64_t begin, std::int64_t key) const {
    std::int64_t same = 1, next = 2;
    for (; begin + next <= list.count && uses.keys[begin + next - 1] == key; next *= 2) same = next;
    const auto rest =
        next - same < list.count - begin - same ? next - same : list.count - begin - same;
    return begin + same + tenon::gpu::first_not_below(uses.keys + begin + same, rest, key + 1);
  }
};

/// Sorts the uses by block. scratch: tenon::gpu::sort_scratch(count, rows).
inline tenon::gpu::Sorted sort_uses(const tenon::Call& call, const BlockList& list,
                                    std::int64_t* scratch) {
  return tenon::gpu::sort(call, list.count, RowToUse{list.numbers, list.rows}, list.rows, scratch);
}

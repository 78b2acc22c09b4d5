// Selection of rows on a CUDA device, by lists of indices and from sparse tensors.
#pragma once
#include <tenon/gpu/copy_indices.hpp>
#include <tenon/gpu/fault.hpp>
#include <tenon/gpu/number.hpp>
#include <tenon/gpu/scan.hpp>
#include <tenon/gpu/scratch.hpp>

#include "../../shared/bytes.hpp"
#include "../../shared/rows.hpp"
#include "sparse_rows.hpp"

/// A list's indices as int64; -1 for an index out of range, which becomes a fault.
template <class Number>
struct CheckNumber {
  const Number* numbers;
  std::int64_t rows;
  std::int64_t* checked;
  tenon::gpu::Fault fault;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto number = static_cast<std::int64_t>(numbers[i]);
    checked[i] = fault.fits(number, rows) ? number : -1;
  }
};

/// Input 1 as indices from 0 to rows - 1, or -1, written to `checked`.
inline void check_numbers(const tenon::Call& call, std::int64_t rows, std::int64_t* checked) {
  tenon::visit<tenon::integral>(call.input_type(1).dtype, [&]<class T>() {
    const auto numbers = call.input<T>(1);
    tenon::gpu::for_each(call, numbers.size(),
                         CheckNumber<T>{numbers.data(), rows, checked, tenon::gpu::Fault(call)});
  });
}

/// Row i of a csr result is row source(i), or empty if that is -1.
template <class Source>
struct CountOfRow {
  Source source;
  const std::int64_t* row_starts;

  TENON_FN std::int64_t operator()(std::int64_t i) const {
    const auto row = source(i);
    return row < 0 ? 0 : row_starts[row + 1] - row_starts[row];
  }
};

template <class T, class Source>
struct CopyCsrRow {
  tenon::Csr<const T> from;
  tenon::CsrOut<T> out;
  Source source;

  TENON_DEVICE void operator()(std::int64_t i, std::int64_t first, std::int64_t step) const {
    const auto row = source(i);
    if (row < 0) return;
    const auto begin = from.row_starts[row], count = from.row_starts[row + 1] - begin,
               to = out.row_starts[i];
    for (auto e = first; e < count; e += step) {
      out.values[to + e] = from.values[begin + e];
      out.columns_of[to + e] = from.columns_of[begin + e];
    }
  }
};

/// Number of scratch elements for selecting from `items` rows.
inline std::int64_t pick_scratch(std::int64_t items) {
  return items + 1 + tenon::gpu::scan_scratch(items);
}

template <class Select>
struct IsPicked {
  Select select;

  TENON_DEVICE std::int64_t operator()(std::int64_t item) const { return select(item).id >= 0; }
};

template <class T, class Select>
struct CopyPicked {
  tenon::RowSparse<const T> from;
  tenon::RowSparseOut<T> out;
  Select select;
  const std::int64_t* offsets;  ///< number of selected items before each item
  std::int64_t items;
  bool reversed;

  TENON_DEVICE void operator()(std::int64_t item, std::int64_t first, std::int64_t step) const {
    const auto picked = select(item);
    if (picked.id < 0) return;
    const auto row = reversed ? offsets[items] - 1 - offsets[item] : offsets[item];
    if (first == 0) out.row_ids[row] = picked.id;
    for (auto j = first; j < from.row_size; j += step)
      out.values[row * from.row_size + j] = from.values[picked.index * from.row_size + j];
  }
};

/// Same interface as PicksOnCpu; source and select run on the device. Both functions wait for the
/// size of their result, so that they cannot be captured in CUDA graphs.
struct PicksOnDevice {
  template <class T, class Source>
  static void csr(const tenon::Call& call, const tenon::Csr<const T>& from, std::int64_t rows,
                  const Source& source) {
    const tenon::gpu::Scratch<std::int64_t> scratch(call, pick_scratch(rows));
    std::int64_t* const starts = scratch.data();
    tenon::gpu::scan(call, rows, CountOfRow<Source>{source, from.row_starts}, starts,
                     starts + rows + 1);
    const auto stored = tenon::gpu::wait_for(call, starts + rows);
    const auto out = call.allocate_csr<T>(0, stored);
    tenon::gpu::CopyIndices{call}(out.row_starts, starts, rows + 1);
    const auto length = std::max<std::int64_t>(stored / std::max<std::int64_t>(rows, 1),
                                               32);  // some rows may be much longer than others
    for_each_row(call, rows, length, CopyCsrRow<T, Source>{from, out, source});
  }

  template <class T, class Select>
  static void rows(const tenon::Call& call, const tenon::RowSparse<const T>& from,
                   std::int64_t items, const Select& select, bool reversed = false) {
    const tenon::gpu::Scratch<std::int64_t> scratch(call, pick_scratch(items));
    std::int64_t* const offsets = scratch.data();
    tenon::gpu::scan(call, items, IsPicked<Select>{select}, offsets, offsets + items + 1);
    const auto out = call.allocate_row_sparse<T>(0, tenon::gpu::wait_for(call, offsets + items));
    for_each_row(call, items, from.row_size,
                 CopyPicked<T, Select>{from, out, select, offsets, items, reversed});
  }
};

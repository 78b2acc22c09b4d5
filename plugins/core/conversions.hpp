// Conversions between storages on a CUDA device. A conversion whose result size depends on the data
// waits for that size.
#pragma once
#include <tenon/gpu/fault.hpp>
#include <tenon/gpu/number.hpp>
#include <tenon/gpu/scan.hpp>
#include <tenon/gpu/scratch.hpp>
#include <tenon/operator.hpp>

#include "../shared/rows.hpp"

namespace conversions {

using Index = std::int64_t;
using tenon::gpu::Block, tenon::gpu::block_threads;

template <class T>
TENON_FN bool is_zero(T value) {
  if constexpr (sizeof(T) == 2)
    return static_cast<float>(value) == 0;
  else
    return value == T(0);
}

/// Dense rows and their indices in a matrix. If `ids` is null, row i has index i.
template <class T>
struct Rows {
  const T* values;
  Index count, size;
  const Index* ids;

  TENON_FN Index id(Index row) const { return ids ? ids[row] : row; }
};

/// Sets counts[row id] to the number of nonzeros in a row.
template <class T>
struct CountRow {
  Rows<T> rows;
  Index* counts;
  Index total;
  tenon::gpu::Fault fault;

  TENON_DEVICE void operator()(const Block& block, Index row) const {
    Index partial = 0;
    for (Index j = block.thread(); j < rows.size; j += block_threads)
      partial += !is_zero(rows.values[row * rows.size + j]);
    const Index count = block.sum(partial);
    if (block.thread() == 0 && fault.fits(rows.id(row), total)) counts[rows.id(row)] = count;
  }
};

/// Writes the nonzeros of a row contiguously.
template <class T>
struct PackRow {
  Rows<T> rows;
  tenon::CsrOut<T> out;
  Index total;

  TENON_DEVICE void operator()(const Block& block, Index row) const {
    const Index id = rows.id(row);
    if (id < 0 || id >= total) return;
    Index to = out.row_starts[id];
    for (Index first = 0; first < rows.size; first += block_threads) {
      const Index j = first + block.thread();
      const bool nonzero = j < rows.size && !is_zero(rows.values[row * rows.size + j]);
      Index chunk_count = 0;
      const Index offset = block.exclusive_sum(Index(nonzero), chunk_count);
      if (nonzero) {
        out.columns_of[to + offset] = j;
        out.values[to + offset] = rows.values[row * rows.size + j];
      }
      to += chunk_count;
    }
  }
};

struct Count {
  const Index* numbers;
  TENON_FN Index operator()(Index i) const { return numbers[i]; }
};
struct IsNonzero {
  const Index* numbers;
  TENON_FN Index operator()(Index i) const { return numbers[i] != 0; }
};

/// Counts the nonzeros of `total` rows into `counts`, the start of scratch memory of at least
/// row_scratch(total) elements.
template <class T>
void count_rows(const tenon::Call& call, const Rows<T>& rows, Index total, Index* counts) {
  tenon::gpu::clear(call, counts, static_cast<std::size_t>(total) * sizeof(Index));
  tenon::gpu::for_each_block(call, rows.count,
                             CountRow<T>{rows, counts, total, tenon::gpu::Fault(call)});
}

/// Returns the scratch size, in Index elements, for a count and a prefix sum per row.
inline Index row_scratch(Index rows) {
  return 2 * rows + 1 + tenon::gpu::scan_scratch(rows);
}

/// Writes a csr result of `total` rows: the nonzeros of `rows`, and no elements in other rows.
template <class T>
void csr_from_dense(const tenon::Call& call, const Rows<T>& rows, Index total) {
  const tenon::gpu::Scratch<Index> scratch(call, row_scratch(total));
  Index *const counts = scratch.data(), *const starts = counts + total;
  count_rows(call, rows, total, counts);
  tenon::gpu::scan(call, total, Count{counts}, starts, starts + total + 1);
  const auto out = call.allocate_csr<T>(0, tenon::gpu::wait_for(call, starts + total));
  tenon::gpu::copy(call, out.row_starts, starts,
                   static_cast<std::size_t>(total + 1) * sizeof(Index));
  tenon::gpu::for_each_block(call, rows.count, PackRow<T>{rows, out, total});
}

/// Copies a row that has nonzeros to its position among such rows.
template <class T>
struct CopyNonzeroRow {
  Rows<T> rows;
  const Index *counts, *offsets;
  tenon::RowSparseOut<T> out;

  TENON_DEVICE void operator()(Index row, Index first, Index step) const {
    if (counts[row] == 0) return;
    const Index to = offsets[row];
    if (first == 0) out.row_ids[to] = row;
    for (Index j = first; j < rows.size; j += step)
      out.values[to * rows.size + j] = rows.values[row * rows.size + j];
  }
};

/// Writes a row_sparse result of the rows of a dense tensor that have nonzeros.
template <class T>
void rows_from_dense(const tenon::Call& call, const Rows<T>& rows) {
  const tenon::gpu::Scratch<Index> scratch(call, row_scratch(rows.count));
  Index *const counts = scratch.data(), *const offsets = counts + rows.count;
  count_rows(call, rows, rows.count, counts);
  tenon::gpu::scan(call, rows.count, IsNonzero{counts}, offsets, offsets + rows.count + 1);
  const auto out = call.allocate_row_sparse<T>(0, tenon::gpu::wait_for(call, offsets + rows.count));
  for_each_row(call, rows.count, rows.size, CopyNonzeroRow<T>{rows, counts, offsets, out});
}

/// Copies stored rows to their positions in a dense tensor.
template <class T>
struct ScatterRow {
  Rows<T> rows;
  T* to;
  Index total;
  tenon::gpu::Fault fault;

  TENON_DEVICE void operator()(Index row, Index first, Index step) const {
    const Index id = rows.id(row);
    if (!fault.fits(id, total)) return;
    for (Index j = first; j < rows.size; j += step)
      to[id * rows.size + j] = rows.values[row * rows.size + j];
  }
};

/// Expands rows of a csr matrix to dense rows. If `offsets` is not null, a row that stores elements
/// goes to row offsets[row], its index goes to `row_ids`, and other rows are left out.
template <class T>
struct ExpandRow {
  tenon::Csr<const T> from;
  T* to;
  const Index* offsets;
  Index* row_ids;
  tenon::gpu::Fault fault;

  TENON_DEVICE void operator()(Index row, Index first, Index step) const {
    const Index begin = from.row_starts[row], end = from.row_starts[row + 1],
                at = offsets ? offsets[row] : row;
    if (begin == end) return;
    if (offsets && first == 0) row_ids[at] = row;
    for (Index e = begin + first; e < end; e += step)
      if (fault.fits(from.columns_of[e], from.columns))
        to[at * from.columns + from.columns_of[e]] = from.values[e];
  }
};

template <class T>
void expand_rows(const tenon::Call& call, const tenon::Csr<const T>& from, T* to,
                 const Index* offsets = nullptr, Index* row_ids = nullptr) {
  const Index length = from.nnz / std::max<Index>(from.rows, 1);
  for_each_row(call, from.rows, std::max<Index>(length, 32),
               ExpandRow<T>{from, to, offsets, row_ids, tenon::gpu::Fault(call)});
}

template <class T>
struct HasElements {
  tenon::Csr<const T> from;
  TENON_FN Index operator()(Index row) const {
    return from.row_starts[row + 1] > from.row_starts[row];
  }
};

template <class T>
void rows_from_csr(const tenon::Call& call, const tenon::Csr<const T>& from) {
  const tenon::gpu::Scratch<Index> scratch(call, row_scratch(from.rows));
  Index* const offsets = scratch.data();
  tenon::gpu::scan(call, from.rows, HasElements<T>{from}, offsets, offsets + from.rows + 1);
  const Index nonzero_rows = tenon::gpu::wait_for(call, offsets + from.rows);
  const auto out = call.allocate_row_sparse<T>(0, nonzero_rows);
  tenon::gpu::clear(call, out.values,
                    static_cast<std::size_t>(nonzero_rows * from.columns) * sizeof(T));
  expand_rows(call, from, out.values, offsets, out.row_ids);
}

}  // namespace conversions

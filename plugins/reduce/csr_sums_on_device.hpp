// Sums of a csr matrix on a CUDA device. Floating-point numbers are added in float64, in an order
// that depends only on the matrix.
#pragma once
#include <tenon/gpu/fault.hpp>

#include "../shared/fold_on_device.hpp"
#include "csr_sums.hpp"

/// Layout of the workspace of csr sums.
struct CsrSumSpace {
  std::int64_t columns, column_chunks;

  explicit CsrSumSpace(const tenon::Shape& x)
      : columns(x[1]),
        column_chunks(std::clamp<std::int64_t>((1 << 18) / std::max<std::int64_t>(x[1], 1), 1,
                                               std::clamp<std::int64_t>(x[0], 1, 256))) {}

  std::size_t workspace(unsigned reduced) const {
    if (reduced == 1) return static_cast<std::size_t>(columns * column_chunks) * sizeof(double);
    return reduced == 3 ? 1 << 14 : 0;  // of fold() over one axis
  }
};

template <class T, class Acc, class Put>
struct RowSum {
  tenon::Csr<const T> x;
  Put put;

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t row) const {
    const auto end = x.row_starts[row + 1];
    Acc sum = 0;
    for (auto e = x.row_starts[row] + block.thread(); e < end; e += tenon::gpu::block_threads)
      sum += static_cast<Acc>(static_cast<Plain<T>>(x.values[e]));
    sum = block.sum(sum);
    if (block.thread() == 0) put(row, sum);
  }
};

template <class T, class Acc, class Put>
struct ShortRowSum {
  tenon::Csr<const T> x;
  Put put;

  TENON_FN void operator()(std::int64_t row) const {
    Acc sum = 0;
    for (auto e = x.row_starts[row]; e < x.row_starts[row + 1]; ++e)
      sum += static_cast<Acc>(static_cast<Plain<T>>(x.values[e]));
    put(row, sum);
  }
};

/// A chunk of rows, one after the other: the values of a row are in distinct columns, so the
/// threads of a block do not conflict.
template <class T, class Acc>
struct ColumnSums {
  tenon::Csr<const T> x;
  Acc* sums;  ///< [chunks, columns]
  std::int64_t chunks;
  tenon::gpu::Fault fault;

  TENON_DEVICE void operator()(const tenon::gpu::Block& block, std::int64_t chunk) const {
    Acc* const own = sums + chunk * x.columns;
    const auto length = (x.rows + chunks - 1) / chunks, begin = chunk * length,
               end = begin + length < x.rows ? begin + length : x.rows;
    for (auto row = begin; row < end; ++row) {
      for (auto e = x.row_starts[row] + block.thread(); e < x.row_starts[row + 1];
           e += tenon::gpu::block_threads)
        if (fault.fits(x.columns_of[e], x.columns))
          own[x.columns_of[e]] += static_cast<Acc>(static_cast<Plain<T>>(x.values[e]));
      block.sync();
    }
  }
};

template <class Acc, class Put>
struct SumColumnChunks {
  const Acc* sums;
  std::int64_t chunks, columns;
  Put put;

  TENON_FN void operator()(std::int64_t column) const {
    Acc sum = 0;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) sum += sums[chunk * columns + column];
    put(column, sum);
  }
};

/// The csr kernel of a reduction; its dense kernel uses `sink`, too.
template <class T, class Acc, class Sink>
void reduce_csr_on_device(const tenon::Call& call, unsigned reduced, const Sink& sink) {
  if (call.write(0) == tenon::Write::none) return;
  const auto x = call.csr<T>(0);
  const CsrSumSpace space({x.rows, x.columns});
  if (reduced == 1) {
    const auto bytes = space.workspace(reduced);
    Acc* const sums = call.workspace<Acc>(bytes / sizeof(Acc));
    tenon::gpu::clear(call, sums, bytes);
    tenon::gpu::for_each_block(
        call, space.column_chunks,
        ColumnSums<T, Acc>{x, sums, space.column_chunks, tenon::gpu::Fault(call)});
    tenon::gpu::for_each(call, x.columns,
                         SumColumnChunks<Acc, Sink>{sums, space.column_chunks, x.columns, sink});
  } else if (reduced == 2) {
    if (x.nnz / std::max<std::int64_t>(x.rows, 1) >= 64)
      tenon::gpu::for_each_block(call, x.rows, RowSum<T, Acc, Sink>{x, sink});
    else
      tenon::gpu::for_each(call, x.rows, ShortRowSum<T, Acc, Sink>{x, sink});
  } else {
    const FoldSpace values({x.nnz}, 1);
    fold<Plus<Acc>>(call, values, Elements<T, Acc>{x.values}, sink, fold_scratch(call, values));
  }
}

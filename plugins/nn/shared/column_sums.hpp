// Column sums of a matrix on a CUDA device, in an order that depends only on sizes.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tenon/gpu/launch.hpp>

/// One thread adds rows of one column, so that adjacent threads read adjacent elements; rows are
/// split into chunks if the columns alone would not occupy the device.
struct ColumnSums {
  std::int64_t rows, columns, chunks;

  static ColumnSums of(std::int64_t rows, std::int64_t columns) {
    const auto filling = (1 << 16) / std::max<std::int64_t>(columns, 1),
               worthwhile = (rows + 31) / 32;
    return {rows, columns, std::max<std::int64_t>(std::min(filling, worthwhile), 1)};
  }

  /// Bytes of scratch memory for partial sums.
  std::size_t bytes() const {
    return chunks > 1 ? static_cast<std::size_t>(columns * chunks) * sizeof(double) : 0;
  }
};

template <class Term, class Put>
struct ColumnChunk {
  ColumnSums sums;
  Term term;
  Put put;
  double* partial;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto chunk = i / sums.columns, column = i % sums.columns,
               length = (sums.rows + sums.chunks - 1) / sums.chunks;
    const auto end = (chunk + 1) * length < sums.rows ? (chunk + 1) * length : sums.rows;
    double total = 0;
    for (auto row = chunk * length; row < end; ++row)
      total += static_cast<double>(term(row, column));
    if (sums.chunks == 1)
      put(column, total);
    else
      partial[i] = total;
  }
};

template <class Put>
struct ColumnOfChunks {
  ColumnSums sums;
  Put put;
  const double* partial;

  TENON_DEVICE void operator()(std::int64_t column) const {
    double total = 0;
    for (std::int64_t chunk = 0; chunk < sums.chunks; ++chunk)
      total += partial[chunk * sums.columns + column];
    put(column, total);
  }
};

/// Calls put(column, the sum over the rows of term(row, column)) for each column. `scratch` has
/// sums.bytes().
template <class Term, class Put>
void sum_columns(const tenon::Call& call, const ColumnSums& sums, const Term& term, const Put& put,
                 double* scratch) {
  tenon::gpu::for_each(call, sums.columns * sums.chunks,
                       ColumnChunk<Term, Put>{sums, term, put, scratch});
  if (sums.chunks > 1)
    tenon::gpu::for_each(call, sums.columns, ColumnOfChunks<Put>{sums, put, scratch});
}

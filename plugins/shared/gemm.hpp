// f64 matrix products with OpenBLAS, with the same bits for any number of threads. f32 products are
// in product/multiply.hpp.
#pragma once
#include <cblas.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <tenon/operator.hpp>

#include "product/operand.hpp"

namespace gemm {

inline CBLAS_TRANSPOSE order(const Operand<double>& operand) {
  return operand.transposed ? CblasTrans : CblasNoTrans;
}

/// The result of a product, split into tiles that depend only on its size, never on the number of
/// threads.
struct Tiles {
  static constexpr std::int64_t tall = 128, wide = 256;
  std::int64_t rows, columns;

  std::int64_t across() const { return (columns + wide - 1) / wide; }
  std::int64_t count() const { return (rows + tall - 1) / tall * across(); }
};

/// Multiplications below which another thread does not pay off.
inline constexpr double worth_a_thread = 100'000;

/// Returns the number of the `items` equal chunks of a product that a thread should take at once.
inline std::int64_t grain(std::int64_t items, std::int64_t rows, std::int64_t columns,
                          std::int64_t depth) {
  if (items == 0) return 1;
  const double each = static_cast<double>(rows) * static_cast<double>(columns) *
                      static_cast<double>(depth) / static_cast<double>(items);
  return each >= worth_a_thread ? 1
                                : static_cast<std::int64_t>(worth_a_thread / std::max(each, 1.0));
}

/// Checks the sizes, which OpenBLAS takes as int, and its number of threads. Call once before the
/// products of a kernel, on the kernel's own thread.
inline void prepare(std::initializer_list<std::int64_t> sizes) {
  for (const auto size : sizes)
    if (size > std::numeric_limits<blasint>::max())
      throw tenon::Error("a matrix has ", size, " rows or columns; the maximum of OpenBLAS is ",
                         std::numeric_limits<blasint>::max());
  // OpenBLAS's own threads would compete with the host's, and would split the sums differently.
  if (openblas_get_num_threads() != 1) openblas_set_num_threads(1);
}

/// Computes tile `tile` of result = left * right + beta * result, where left has `depth` columns.
inline void multiply_tile(Operand<double> left, Operand<double> right, double* result, Tiles tiles,
                          std::int64_t depth, double beta, std::int64_t tile) {
  const auto row = tile / tiles.across() * Tiles::tall,
             column = tile % tiles.across() * Tiles::wide;
  const auto rows = std::min(Tiles::tall, tiles.rows - row),
             columns = std::min(Tiles::wide, tiles.columns - column);
  double* const corner = result + row * tiles.columns + column;
  if (depth == 0) {  // an empty sum, which BLAS leaves undefined
    if (beta == 0)
      for (std::int64_t i = 0; i < rows; ++i) std::fill_n(corner + i * tiles.columns, columns, 0.0);
    return;
  }
  cblas_dgemm(CblasRowMajor, order(left), order(right), static_cast<blasint>(rows),
              static_cast<blasint>(columns), static_cast<blasint>(depth), 1.0, left.row(row),
              static_cast<blasint>(left.row_size), right.column(column),
              static_cast<blasint>(right.row_size), beta, corner,
              static_cast<blasint>(tiles.columns));
}

/// Computes result[rows, columns] = left[rows, depth] * right[depth, columns] + beta * result on
/// the host's threads.
inline void multiply(const tenon::Call& call, Operand<double> left, Operand<double> right,
                     double* result, Tiles tiles, std::int64_t depth, double beta) {
  prepare({tiles.rows, tiles.columns, depth});
  const auto count = tiles.count();
  call.parallel_for(count, grain(count, tiles.rows, tiles.columns, depth),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (auto tile = begin; tile < end; ++tile)
                        multiply_tile(left, right, result, tiles, depth, beta, tile);
                    });
}

}  // namespace gemm

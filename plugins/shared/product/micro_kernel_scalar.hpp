// Blocks in plain C++ for CPUs without AVX2: four rows of eight columns.
#pragma once
#include <algorithm>

#include "micro_kernel.hpp"

namespace product::scalar {

inline std::int64_t max_rows(std::int64_t) {
  return 4;
}

/// `columns`: 1 to 8 columns of this strip. Columns past the end are computed and dropped.
template <int rows>
void strip(const Block& b, std::int64_t columns) {
  constexpr int width = 8;
  float sums[rows][width] = {};
  if (b.start)
    for (int i = 0; i < rows; ++i) std::copy_n(b.start + i * b.start_row, columns, sums[i]);
  const float *left = b.left, *right = b.right;
  for (std::int64_t k = 0; k < b.depth; ++k, left += b.left_depth, right += b.right_row) {
    PRODUCT_UNROLL
    for (int i = 0; i < rows; ++i) {
      const float factor = left[i * b.left_row];
      PRODUCT_UNROLL
      for (int j = 0; j < width; ++j) sums[i][j] += factor * right[j];
    }
  }
  for (int i = 0; i < rows; ++i) std::copy_n(sums[i], columns, b.result + i * b.result_row);
}

/// `rows`: 1 to max_rows().
inline void multiply(std::int64_t rows, Block operands) {
  constexpr std::int64_t width = 8;
  for (auto left = operands.columns; left > 0; left -= width) {
    const auto columns = std::min(left, width);
    rows == 1   ? strip<1>(operands, columns)
    : rows == 2 ? strip<2>(operands, columns)
    : rows == 3 ? strip<3>(operands, columns)
                : strip<4>(operands, columns);
    operands.right += width;
    operands.result += width;
    if (operands.start) operands.start += width;
  }
}

/// Copies `rows` rows of `count` floats, each padded with zeros to a whole vector.
inline void copy_rows(const float* from, std::int64_t from_row, std::int64_t count,
                      std::int64_t rows, float* to, std::int64_t to_row) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < vector; ++j)
      to[i * to_row + j] = j < count ? from[i * from_row + j] : 0.0F;
}

}  // namespace product::scalar

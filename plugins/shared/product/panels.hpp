// Packing of the right side of a product: row-major panels with as many columns as the level's
// blocks; the last one is padded to whole vectors.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include "micro_kernels.hpp"
#include "operand.hpp"

namespace product {

inline std::int64_t padded(std::int64_t columns) {
  return vectors_of(columns) * vector;
}

/// Returns the size of a packed matrix, in floats.
inline std::int64_t packed_size(std::int64_t depth, std::int64_t columns) {
  return depth * padded(columns);
}

/// Packs columns `column` to `column + columns` of rows `first` to `first + depth` of `right` at
/// `to`. Padding is zero.
inline void pack(const Level& level, const gemm::Operand<float>& right, std::int64_t first,
                 std::int64_t depth, std::int64_t column, std::int64_t columns, float* to) {
  const auto width = padded(columns);
  for (std::int64_t j = 0; j < columns; j += vector) {
    const auto count = std::min(vector, columns - j);
    if (!right.transposed) {
      level.copy_rows(right.row(first) + column + j, right.row_size, count, depth, to + j, width);
      continue;
    }
    std::int64_t k = 0;
    const float* const from = right.column(column + j) + first;
    if (level.transpose_square && count == vector)
      for (; k + vector <= depth; k += vector)
        level.transpose_square(from + k, right.row_size, to + k * width + j, width);
    for (; k < depth; ++k) {
      for (std::int64_t i = 0; i < count; ++i) to[k * width + j + i] = from[i * right.row_size + k];
      std::fill_n(to + k * width + j + count, vector - count, 0.0F);
    }
  }
}

/// Packs the whole right side into packed_size() floats, for this machine's level.
inline void pack(const gemm::Operand<float>& right, std::int64_t depth, std::int64_t columns,
                 float* to) {
  const auto& level = usable_level();
  for (std::int64_t column = 0; column < columns; column += level.cut.panel)
    pack(level, right, 0, depth, column, std::min(level.cut.panel, columns - column),
         to + column * depth);
}

/// Names the packed layout on this machine.
inline std::string packing() {
  return "panels of " + std::to_string(usable_level().cut.panel);
}

}  // namespace product

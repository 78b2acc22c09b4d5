// Transposes matrices: between plain and channels-last tensors.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tenon {

/// Of a matrix in row-major order.
struct TransposedCopy {
  const std::byte* from;
  std::byte* to;  ///< [columns, rows], does not overlap `from`
  std::int64_t rows, columns;
  std::size_t element;  ///< bytes: 1, 2, 4, 8 or 16
};

/// Columns [first, last) alone, which become rows. Threads: parts that do not overlap, at once.
void copy_transposed(const TransposedCopy& copy, std::int64_t first, std::int64_t last);

}  // namespace tenon

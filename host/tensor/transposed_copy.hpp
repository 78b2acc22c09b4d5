// Matrix transposition, for conversions between plain and channels-last tensors.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tenon {

/// A row-major matrix to transpose.
struct TransposedCopy {
  const std::byte* from;
  std::byte* to;  ///< [columns, rows], does not overlap `from`
  std::int64_t rows, columns;
  std::size_t element;  ///< bytes: 1, 2, 4, 8 or 16
};

/// Transposes only columns [first, last), which become rows. Threads may process disjoint ranges
/// concurrently.
void copy_transposed(const TransposedCopy& copy, std::int64_t first, std::int64_t last);

}  // namespace tenon

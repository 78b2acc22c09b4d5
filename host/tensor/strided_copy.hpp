// Copies strided elements to contiguous memory, and transposes matrices.
#pragma once
#include <tenon/abi.h>

#include <cstddef>
#include <cstdint>

namespace tenon {

/// Copies the elements of `from` to `to`, contiguous in row-major order. `to` must be large enough
/// and not overlap `from`. Transpositions are tiled.
void copy_to_contiguous(const tenon_dense& from, std::byte* to);

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

// The micro-kernels of FMA's algorithms.
#pragma once
#include "micro_kernel_scalar.hpp"
#include "product_choice.hpp"
#if defined(TENON_WIDE_LEVELS)
#include "micro_kernel_avx2.hpp"
#include "micro_kernel_avx512.hpp"
#endif

namespace product {

/// How results are cut into tiles, which are whole panels wide, but for the last one.
struct Cut {
  std::int64_t panel;      ///< columns of a block, and of a panel of a packed right side
  std::int64_t wide;       ///< most columns of a tile
  std::int64_t band;       ///< the rows of a tile are a multiple of this, but for the last one
  std::int64_t tall = 96;  ///< tiles for many threads are made narrower first, while they have as many rows as this
  std::int64_t each = 4;   ///< tiles for each thread, so that all end together
  std::int64_t tallest = most_tall;
};

/// The functions of one level, which a product looks up once.
struct Level {
  std::int64_t (*most_rows)(std::int64_t columns);
  void (*multiply)(std::int64_t rows, const Block& of);
  void (*copy_rows)(const float* from, std::int64_t from_row, std::int64_t count, std::int64_t rows, float* to, std::int64_t to_row);
  /// Null where none is faster than a loop.
  void (*transpose_square)(const float* from, std::int64_t from_row, float* to, std::int64_t to_row);
  std::int64_t depth = most_depth;  ///< rows of a panel that are multiplied before the next ones
  Cut cut{most_columns, most_columns, 24};
};

/// That of FMA's algorithms, and of scalar.
inline const Level& level_of([[maybe_unused]] Algorithm algorithm) {
  static constexpr Level scalar_level{scalar::most_rows, [](std::int64_t rows, const Block& of) { scalar::multiply(rows, of); },
                                      scalar::copy_rows, nullptr};
#if defined(TENON_WIDE_LEVELS)
  // A panel's rows and six of the left side fit the first-level cache together, so that all rows of a tile pass by a panel that stays.
  static constexpr Level avx2_level{avx2::most_rows, avx2::multiply, avx2::copy_rows, avx2::transpose_square, 288, {vector, most_wide, 1}};
  static constexpr Level avx512_level{avx512::most_rows, avx512::multiply, avx512::copy_rows, avx512::transpose_square, 112};
  if (algorithm == Algorithm::fma_avx512) return avx512_level;
  if (algorithm == Algorithm::fma_avx2) return avx2_level;
#endif
  return scalar_level;
}

/// Of this machine. FMA needs to know no more than its vectors.
inline const Level& usable_level() {
  return level_of(choose({Multiplies::fma, {}, {this_vectors()}}).algorithm);
}

}  // namespace product

// Selection of the FMA micro-kernel.
#pragma once
#include "micro_kernel_scalar.hpp"
#include "product_choice.hpp"
#if defined(TENON_WIDE_LEVELS)
#include "micro_kernel_avx2.hpp"
#include "micro_kernel_avx512.hpp"
#endif

namespace product {

/// How results are split into tiles. All tiles except the last are whole panels wide.
struct Cut {
  std::int64_t panel;  ///< columns of a block, and of a panel of a packed right side
  std::int64_t wide;   ///< maximum columns of a tile
  std::int64_t band;   ///< all tiles except the last have a multiple of this many rows
  std::int64_t tall =
      96;  ///< with many threads, tiles with at least this many rows are narrowed first
  std::int64_t each = 4;  ///< tiles per thread, so that all threads end at the same time
  std::int64_t tallest = max_tall;
};

/// The functions of one vector level, which a product looks up once.
struct Level {
  std::int64_t (*max_rows)(std::int64_t columns);
  void (*multiply)(std::int64_t rows, const Block& operands);
  void (*copy_rows)(const float* from, std::int64_t from_row, std::int64_t count, std::int64_t rows,
                    float* to, std::int64_t to_row);
  /// Null if no kernel is faster than a loop.
  void (*transpose_square)(const float* from, std::int64_t from_row, float* to,
                           std::int64_t to_row);
  std::int64_t depth = max_depth;  ///< rows of a panel per depth block
  Cut cut{max_columns, max_columns, 24};
  /// One row of `panels` whole panels, `size` floats each. `backwards`: the last ones first. Null
  /// if it is not faster than multiply().
  void (*multiply_row)(const Block& operands, std::int64_t size, std::int64_t panels,
                       bool backwards) = nullptr;
};

/// Returns the level of one of the FMA algorithms, or of the scalar one.
inline const Level& level_of([[maybe_unused]] Algorithm algorithm) {
  static constexpr Level scalar_level{
      scalar::max_rows,
      [](std::int64_t rows, const Block& operands) { scalar::multiply(rows, operands); },
      scalar::copy_rows, nullptr};
#if defined(TENON_WIDE_LEVELS)
  // A panel's rows and six rows of the left side fit into the first-level cache together, so the
  // panel stays there for all rows of a tile.
  static constexpr Level avx2_level{
      avx2::max_rows,        avx2::multiply,    avx2::copy_rows, avx2::transpose_square, 288,
      {vector, max_wide, 1}, avx2::multiply_row};
  static constexpr Level avx512_level{avx512::max_rows, avx512::multiply, avx512::copy_rows,
                                      avx512::transpose_square, 112};
  if (algorithm == Algorithm::fma_avx512) return avx512_level;
  if (algorithm == Algorithm::fma_avx2) return avx2_level;
#endif
  return scalar_level;
}

/// Returns the level of this machine. It depends only on the vector extensions.
inline const Level& usable_level() {
  return level_of(choose({Multiplies::fma, {}, {this_vectors()}}).algorithm);
}

}  // namespace product

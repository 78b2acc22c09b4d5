// Computes a block of a product of f32 matrices: as many accumulators as fit into registers, over
// the whole depth of the block.
//
// Each element of the result has one accumulator, which begins with `start` and takes a fused
// multiply-add for each k in order (a product and a sum in scalar code). So its bits do not depend
// on how a product is split into blocks, tiles and depth blocks, or on the layout of the operands.
#pragma once
#include <cstdint>

#if defined(__clang__)
#define PRODUCT_UNROLL _Pragma("unroll")
#else
#define PRODUCT_UNROLL _Pragma("GCC unroll 16")
#endif

namespace product {

inline constexpr std::int64_t vector =
    16;  ///< floats of an AVX-512 vector; all levels count columns in these
inline constexpr std::int64_t max_columns = 4 * vector;  ///< maximum columns of a block
inline constexpr std::int64_t max_wide =
    4 * max_columns;  ///< maximum columns of a tile that packs its own panels
inline constexpr std::int64_t widest = 2 * max_wide;  ///< maximum columns of any tile

/// Default maximum of the rows of a tile.
inline constexpr std::int64_t max_tall = 256;

/// Rows of a panel per depth block: together they stay in the second-level cache.
inline constexpr std::int64_t max_depth = 512;

/// result[rows, columns] = start + left[rows, depth] * right[depth, columns]. Strides are in
/// elements.
struct Block {
  const float* left;
  std::int64_t left_row, left_depth;  ///< strides between rows and between columns
  const float* right;  ///< whole vectors are readable in each row, including the last one
  std::int64_t right_row;
  const float*
      start;  ///< null for zeros; `result` to accumulate into it; start_row is 0 for a bias
  std::int64_t start_row;
  float* result;
  std::int64_t result_row;
  std::int64_t columns, depth;  ///< columns: 1 to max_columns
};

inline std::int64_t vectors_of(std::int64_t columns) {
  return (columns + vector - 1) / vector;
}

}  // namespace product

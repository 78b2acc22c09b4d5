// A block of a product of f32 matrices: as many sums as fit into registers, over the whole depth that is given.
//
// Each element of the result has one accumulator: start, then for each k in order a fused multiply-add (in scalar code a product and a
// sum). So its bits depend on nothing else: not on how a product is cut into blocks, tiles and parts of the depth, nor on how operands lie.
#pragma once
#include <cstdint>

#if defined(__clang__)
#define PRODUCT_UNROLL _Pragma("unroll")
#else
#define PRODUCT_UNROLL _Pragma("GCC unroll 16")
#endif

namespace product {

inline constexpr std::int64_t vector = 16;                   ///< floats of AVX-512; all levels count columns in these
inline constexpr std::int64_t most_columns = 4 * vector;     ///< of a block
inline constexpr std::int64_t most_wide = 4 * most_columns;  ///< columns of a tile whose panels are packed for it
inline constexpr std::int64_t widest = 2 * most_wide;        ///< and of any tile

/// Rows of a tile, where nobody wants more.
inline constexpr std::int64_t most_tall = 256;

/// Rows of a panel that are multiplied before the next ones: together they stay in the second-level cache.
inline constexpr std::int64_t most_depth = 512;

/// result[rows, columns] = start + left[rows, depth] * right[depth, columns]. Distances are in elements.
struct Block {
  const float* left;
  std::int64_t left_row, left_depth;  ///< from row to row, from column to column
  const float* right;                 ///< whole vectors can be read from each row, the last one's too
  std::int64_t right_row;
  const float* start;  ///< null: zeros. `result` itself to add to it; a bias has start_row 0
  std::int64_t start_row;
  float* result;
  std::int64_t result_row;
  std::int64_t columns, depth;  ///< columns: 1 to most_columns
};

inline std::int64_t vectors_of(std::int64_t columns) {
  return (columns + vector - 1) / vector;
}

}  // namespace product

// Blocks by AVX2: six rows of sixteen columns, strip by strip.
#pragma once
#include <immintrin.h>

#include <algorithm>
#include <array>

#include "block.hpp"

#define PRODUCT_V3 __attribute__((target("avx2,fma")))

namespace product::v3 {

inline std::int64_t most_rows(std::int64_t) {
  return 6;
}

/// `columns`: those of this strip, 1 to 16.
template <int rows>
PRODUCT_V3 void strip(const Block& of, std::int64_t columns) {
  constexpr int half = 8, halves = 2;
  const Block b = of;
  __m256i mask[halves];
  for (int v = 0; v < halves; ++v)
    mask[v] = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(columns) - v * half), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  __m256 sums[rows][halves];
  PRODUCT_UNROLL
  for (int i = 0; i < rows; ++i) {
    PRODUCT_UNROLL
    for (int v = 0; v < halves; ++v)
      sums[i][v] = b.start ? _mm256_maskload_ps(b.start + i * b.start_row + v * half, mask[v]) : _mm256_setzero_ps();
  }
  const float *left = b.left, *right = b.right;
  for (std::int64_t k = 0; k < b.depth; ++k, left += b.left_depth, right += b.right_row) {
    const __m256 row[halves] = {_mm256_loadu_ps(right), _mm256_loadu_ps(right + half)};
    PRODUCT_UNROLL
    for (int i = 0; i < rows; ++i) {
      const __m256 factor = _mm256_broadcast_ss(left + i * b.left_row);
      PRODUCT_UNROLL
      for (int v = 0; v < halves; ++v) sums[i][v] = _mm256_fmadd_ps(factor, row[v], sums[i][v]);
    }
  }
  PRODUCT_UNROLL
  for (int i = 0; i < rows; ++i) {
    PRODUCT_UNROLL
    for (int v = 0; v < halves; ++v) _mm256_maskstore_ps(b.result + i * b.result_row + v * half, mask[v], sums[i][v]);
  }
}

/// `rows`: 1 to most_rows().
inline void multiply(std::int64_t rows, Block of) {
  constexpr std::array strips{strip<1>, strip<2>, strip<3>, strip<4>, strip<5>, strip<6>};
  for (auto left = of.columns; left > 0; left -= vector) {
    strips[static_cast<std::size_t>(rows - 1)](of, std::min(left, vector));
    of.right += vector;
    of.result += vector;
    if (of.start) of.start += vector;
  }
}

}  // namespace product::v3

#undef PRODUCT_V3

// AVX-512 blocks: up to 12 rows of one or two vectors, 8 of three, or 6 of four, so that most
// registers hold accumulators.
#pragma once
#include <immintrin.h>

#include "micro_kernel.hpp"

#define PRODUCT_AVX512 __attribute__((target("avx512f")))

namespace product::avx512 {

inline std::int64_t max_rows(std::int64_t columns) {
  constexpr std::int64_t max_rows_of[] = {12, 12, 8, 6};
  return max_rows_of[vectors_of(columns) - 1];
}

template <int rows, int vectors>
PRODUCT_AVX512 void block(const Block& operands) {
  const auto last = static_cast<__mmask16>(0xffffu >> (vectors * vector - operands.columns));
  const auto mask = [last](int v) {
    return v + 1 < vectors ? static_cast<__mmask16>(0xffff) : last;
  };
  const Block b = operands;
  __m512 sums[rows][vectors];
  PRODUCT_UNROLL
  for (int i = 0; i < rows; ++i) {
    PRODUCT_UNROLL
    for (int v = 0; v < vectors; ++v)
      sums[i][v] = b.start ? _mm512_maskz_loadu_ps(mask(v), b.start + i * b.start_row + v * vector)
                           : _mm512_setzero_ps();
  }
  const float *left = b.left, *right = b.right;
  for (std::int64_t k = 0; k < b.depth; ++k, left += b.left_depth, right += b.right_row) {
    __m512 row[vectors];
    PRODUCT_UNROLL
    for (int v = 0; v < vectors; ++v) row[v] = _mm512_loadu_ps(right + v * vector);
    PRODUCT_UNROLL
    for (int i = 0; i < rows; ++i) {
      const __m512 factor = _mm512_set1_ps(left[i * b.left_row]);
      PRODUCT_UNROLL
      for (int v = 0; v < vectors; ++v) sums[i][v] = _mm512_fmadd_ps(factor, row[v], sums[i][v]);
    }
  }
  PRODUCT_UNROLL
  for (int i = 0; i < rows; ++i) {
    PRODUCT_UNROLL
    for (int v = 0; v < vectors; ++v)
      _mm512_mask_storeu_ps(b.result + i * b.result_row + v * vector, mask(v), sums[i][v]);
  }
}

template <int vectors, int rows = 1>
void with_rows(std::int64_t count, const Block& operands) {
  if constexpr (rows < (vectors < 3 ? 12 : vectors == 3 ? 8 : 6))
    if (count != rows) return with_rows<vectors, rows + 1>(count, operands);
  block<rows, vectors>(operands);
}

/// `rows`: 1 to max_rows(of.columns).
inline void multiply(std::int64_t rows, const Block& operands) {
  switch (vectors_of(operands.columns)) {
    case 1:
      return with_rows<1>(rows, operands);
    case 2:
      return with_rows<2>(rows, operands);
    case 3:
      return with_rows<3>(rows, operands);
    default:
      return with_rows<4>(rows, operands);
  }
}

/// Copies `rows` rows of `count` floats, each padded with zeros to a whole vector.
PRODUCT_AVX512 inline void copy_rows(const float* from, std::int64_t from_row, std::int64_t count,
                                     std::int64_t rows, float* to, std::int64_t to_row) {
  const auto mask = static_cast<__mmask16>(0xffffu >> (vector - count));
  for (std::int64_t i = 0; i < rows; ++i)
    _mm512_storeu_ps(to + i * to_row, _mm512_maskz_loadu_ps(mask, from + i * from_row));
}

/// to[k * to_row + j] = from[j * from_row + k] for j and k from 0 to 15.
PRODUCT_AVX512 inline void transpose_square(const float* from, std::int64_t from_row, float* to,
                                            std::int64_t to_row) {
  __m512 a[vector], b[vector];
  PRODUCT_UNROLL
  for (int i = 0; i < vector; ++i) a[i] = _mm512_loadu_ps(from + i * from_row);
  PRODUCT_UNROLL
  for (int i = 0; i < vector;
       i +=
       2) {  // b: interleaves two rows; each quarter has the first or the last two elements of both
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28,
                                   13, 29);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27,
                                       14, 30, 15, 31);
  }
  PRODUCT_UNROLL
  for (int i = 0; i < vector;
       i += 4) {  // a[i + c]: quarter q has column 4 * q + c of rows i to i + 3
    PRODUCT_UNROLL
    for (int c = 0; c < 4; c += 2) {
      const __m512 low = b[i + c / 2], high = b[i + c / 2 + 2];
      a[i + c] = __builtin_shufflevector(low, high, 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12,
                                         13, 28, 29);
      a[i + c + 1] = __builtin_shufflevector(low, high, 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27,
                                             14, 15, 30, 31);
    }
  }
  PRODUCT_UNROLL
  for (int c = 0; c < 4; ++c) {
    PRODUCT_UNROLL
    for (int odd = 0; odd < 2; ++odd) {  // columns c and c + 8, or c + 4 and c + 12
      __m512 half[2];
      PRODUCT_UNROLL
      for (int h = 0; h < 2; ++h) {
        const __m512 low = a[8 * h + c], high = a[8 * h + c + 4];
        half[h] = odd ? __builtin_shufflevector(low, high, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22,
                                                23, 28, 29, 30, 31)
                      : __builtin_shufflevector(low, high, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19,
                                                24, 25, 26, 27);
      }
      float* const column = to + (c + 4 * odd) * to_row;
      _mm512_storeu_ps(column, __builtin_shufflevector(half[0], half[1], 0, 1, 2, 3, 8, 9, 10, 11,
                                                       16, 17, 18, 19, 24, 25, 26, 27));
      _mm512_storeu_ps(column + 8 * to_row,
                       __builtin_shufflevector(half[0], half[1], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21,
                                               22, 23, 28, 29, 30, 31));
    }
  }
}

}  // namespace product::avx512

#undef PRODUCT_AVX512

// AVX2 blocks: six rows of sixteen columns, whose twelve accumulators keep both FMA units busy.
#pragma once
#include <immintrin.h>

#include <array>

#include "micro_kernel.hpp"

#define PRODUCT_AVX2 __attribute__((target("avx2,fma")))

namespace product::avx2 {

inline constexpr std::int64_t lanes = 8;

inline std::int64_t max_rows(std::int64_t) {
  return 6;
}

/// With `whole`, all columns of the vectors exist. Otherwise columns past the end are computed and
/// dropped.
template <int rows, int vectors, bool whole>
PRODUCT_AVX2 void block(const Block& operands) {
  const Block b = operands;
  const __m256i mask =
      _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(b.columns - (vectors - 1) * lanes)),
                         _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  const auto partial = [](int v) { return !whole && v + 1 == vectors; };
  __m256 sums[rows][vectors];
  PRODUCT_UNROLL
  for (int i = 0; i < rows; ++i) {
    PRODUCT_UNROLL
    for (int v = 0; v < vectors; ++v) sums[i][v] = _mm256_setzero_ps();
  }
  if (b.start) {
    PRODUCT_UNROLL
    for (int i = 0; i < rows; ++i) {
      PRODUCT_UNROLL
      for (int v = 0; v < vectors; ++v) {
        const float* const from = b.start + i * b.start_row + v * lanes;
        sums[i][v] = partial(v) ? _mm256_maskload_ps(from, mask) : _mm256_loadu_ps(from);
      }
    }
  }
  const float *left = b.left, *right = b.right;
#if defined(__clang__)
  _Pragma("clang loop unroll_count(4)")
#else
  _Pragma("GCC unroll 4")
#endif
      for (std::int64_t k = 0; k < b.depth; ++k, left += b.left_depth, right += b.right_row) {
    __m256 row[vectors];
    PRODUCT_UNROLL
    for (int v = 0; v < vectors; ++v) row[v] = _mm256_loadu_ps(right + v * lanes);
    PRODUCT_UNROLL
    for (int i = 0; i < rows; ++i) {
      const __m256 factor = _mm256_broadcast_ss(left + i * b.left_row);
      PRODUCT_UNROLL
      for (int v = 0; v < vectors; ++v) sums[i][v] = _mm256_fmadd_ps(factor, row[v], sums[i][v]);
    }
  }
  PRODUCT_UNROLL
  for (int i = 0; i < rows; ++i) {
    PRODUCT_UNROLL
    for (int v = 0; v < vectors; ++v) {
      float* const to = b.result + i * b.result_row + v * lanes;
      partial(v) ? _mm256_maskstore_ps(to, mask, sums[i][v]) : _mm256_storeu_ps(to, sums[i][v]);
    }
  }
}

template <int vectors, bool whole>
void with_rows(std::int64_t rows, const Block& operands) {
  constexpr std::array blocks{block<1, vectors, whole>, block<2, vectors, whole>,
                              block<3, vectors, whole>, block<4, vectors, whole>,
                              block<5, vectors, whole>, block<6, vectors, whole>};
  blocks[static_cast<std::size_t>(rows - 1)](operands);
}

/// `rows`: 1 to max_rows(); of.columns: 1 to `vector`.
inline void multiply(std::int64_t rows, const Block& operands) {
  if (operands.columns == 2 * lanes) return with_rows<2, true>(rows, operands);
  operands.columns > lanes ? with_rows<2, false>(rows, operands)
                           : with_rows<1, false>(rows, operands);
}

template <int panels>
PRODUCT_AVX2 inline void row_of_panels(const Block& b, std::int64_t size, std::int64_t first) {
  const auto column = [first](int i, int v) { return (first + i) * vector + v * lanes; };
  const float* right = b.right + first * size;
  __m256 sums[panels][2];
  PRODUCT_UNROLL
  for (int i = 0; i < panels; ++i) {
    PRODUCT_UNROLL
    for (int v = 0; v < 2; ++v)
      sums[i][v] = b.start ? _mm256_loadu_ps(b.start + column(i, v)) : _mm256_setzero_ps();
  }
  for (std::int64_t k = 0; k < b.depth; ++k, right += b.right_row) {
    const __m256 factor = _mm256_broadcast_ss(b.left + k * b.left_depth);
    PRODUCT_UNROLL
    for (int i = 0; i < panels; ++i) {
      PRODUCT_UNROLL
      for (int v = 0; v < 2; ++v)
        sums[i][v] =
            _mm256_fmadd_ps(factor, _mm256_loadu_ps(right + i * size + v * lanes), sums[i][v]);
    }
  }
  PRODUCT_UNROLL
  for (int i = 0; i < panels; ++i) {
    PRODUCT_UNROLL
    for (int v = 0; v < 2; ++v) _mm256_storeu_ps(b.result + column(i, v), sums[i][v]);
  }
}

/// One row of whole panels: four at once, because the two accumulators of one would wait for each
/// other.
inline void multiply_row(const Block& operands, std::int64_t size, std::int64_t panels,
                         bool backwards) {
  const Block b = operands;
  constexpr std::int64_t together = 4;
  const auto rest = panels % together;
  for (std::int64_t i = 0; backwards && i < rest; ++i) row_of_panels<1>(b, size, panels - 1 - i);
  for (std::int64_t i = 0; i + together <= panels; i += together)
    row_of_panels<together>(b, size, backwards ? panels - rest - together - i : i);
  for (auto i = panels - rest; !backwards && i < panels; ++i) row_of_panels<1>(b, size, i);
}

/// Copies `rows` rows of `count` floats, each padded with zeros to a whole vector.
PRODUCT_AVX2 inline void copy_rows(const float* from, std::int64_t from_row, std::int64_t count,
                                   std::int64_t rows, float* to, std::int64_t to_row) {
  const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                many = _mm256_set1_epi32(static_cast<int>(count));
  const __m256i low = _mm256_cmpgt_epi32(many, numbers),
                high =
                    _mm256_cmpgt_epi32(many, _mm256_add_epi32(numbers, _mm256_set1_epi32(lanes)));
  for (std::int64_t i = 0; i < rows; ++i, from += from_row, to += to_row) {
    _mm256_storeu_ps(to, _mm256_maskload_ps(from, low));
    _mm256_storeu_ps(to + lanes, _mm256_maskload_ps(from + lanes, high));
  }
}

/// to[k * to_row + j] = from[j * from_row + k] for j and k from 0 to 7.
PRODUCT_AVX2 inline void transpose_eight(const float* from, std::int64_t from_row, float* to,
                                         std::int64_t to_row) {
  __m256 a[lanes], b[lanes];
  PRODUCT_UNROLL
  for (int i = 0; i < 4; ++i) {  // columns 0 to 3 and, in a[i + 4], 4 to 7: row i in the lower half
                                 // and row i + 4 in the upper one
    const float* const row = from + i * from_row;
    a[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(row)),
                                _mm_loadu_ps(row + 4 * from_row), 1);
    a[i + 4] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(row + 4)),
                                    _mm_loadu_ps(row + 4 + 4 * from_row), 1);
  }
  PRODUCT_UNROLL
  for (int h = 0; h < lanes; h += 4) {
    PRODUCT_UNROLL
    for (int i = 0; i < 4; i += 2) {  // interleaves the elements of two rows
      b[h + i] = _mm256_unpacklo_ps(a[h + i], a[h + i + 1]);
      b[h + i + 1] = _mm256_unpackhi_ps(a[h + i], a[h + i + 1]);
    }
    PRODUCT_UNROLL
    for (int c = 0; c < 2; ++c) {
      float* const column = to + (h + 2 * c) * to_row;
      _mm256_storeu_ps(column, _mm256_shuffle_ps(b[h + c], b[h + c + 2], 0x44));
      _mm256_storeu_ps(column + to_row, _mm256_shuffle_ps(b[h + c], b[h + c + 2], 0xee));
    }
  }
}

/// to[k * to_row + j] = from[j * from_row + k] for j and k from 0 to 15.
PRODUCT_AVX2 inline void transpose_square(const float* from, std::int64_t from_row, float* to,
                                          std::int64_t to_row) {
  for (std::int64_t k = 0; k < vector; k += lanes)
    for (std::int64_t j = 0; j < vector; j += lanes)
      transpose_eight(from + j * from_row + k, from_row, to + k * to_row + j, to_row);
}

}  // namespace product::avx2

#undef PRODUCT_AVX2

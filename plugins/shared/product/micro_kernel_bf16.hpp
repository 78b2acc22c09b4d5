// Blocks of bfloat16 products with f32 sums by AVX512-BF16. The instruction multiplies and adds two
// steps of the depth at once, so both sides are laid out in pairs.
#pragma once
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "micro_kernel_avx512.hpp"

#define PRODUCT_BF16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))

namespace product::bf16 {

using Bits = std::uint16_t;  ///< the bits of a bfloat16

/// Like product::Block, but the depth is counted in pairs, and right_row is the distance between
/// pairs in numbers.
struct Block {
  const Bits* left;
  std::int64_t left_row;
  const Bits* right;
  std::int64_t right_row;
  const float* start;
  std::int64_t start_row;
  float* result;
  std::int64_t result_row, columns, pairs;
  const Bits* prefetch = nullptr;  ///< the numbers to prefetch
  std::int64_t prefetch_size = 0;
};

/// Rounds to the nearest bfloat16, ties to even. NaN stays NaN; numbers below 2^-126 become zero,
/// as in the multiplication.
PRODUCT_BF16 inline void round_row(const float* from, std::int64_t count, Bits* to) {
  std::int64_t k = 0;
  for (; k + 2 * vector <= count; k += 2 * vector) {
    const __m512bh both =
        _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + k + vector), _mm512_loadu_ps(from + k));
    _mm512_storeu_si512(to + k, reinterpret_cast<__m512i>(both));
  }
  if (k == count) return;
  const auto mask = (1u << (count - k)) - 1;
  const __m512 low = _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from + k);
  const auto more = static_cast<__mmask16>(mask >> vector);
  const __m512 high = more ? _mm512_maskz_loadu_ps(more, from + k + vector) : _mm512_setzero_ps();
  _mm512_mask_storeu_epi16(to + k, mask, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low)));
}

/// Packs `depth` rows of `columns` floats that are `row` apart: to[2 * (k * width + j) + i] becomes
/// column j of row 2 * k + i. Pads with zeros to `pairs` and `width`.
PRODUCT_BF16 inline void pack_rows(const float* from, std::int64_t row, std::int64_t depth,
                                   std::int64_t columns, std::int64_t pairs, std::int64_t width,
                                   Bits* to) {
  alignas(64) static constexpr std::uint16_t in_turns[2 * vector] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  const __m512i turns = _mm512_load_si512(in_turns);
  for (std::int64_t k = 0; k < pairs; ++k, to += 2 * width)
    for (std::int64_t j = 0; j < width; j += vector) {
      const auto mask =
          static_cast<__mmask16>((1u << std::clamp<std::int64_t>(columns - j, 0, vector)) - 1);
      const __m512 even =
          2 * k < depth ? _mm512_maskz_loadu_ps(mask, from + 2 * k * row + j) : _mm512_setzero_ps();
      const __m512 odd = 2 * k + 1 < depth
                             ? _mm512_maskz_loadu_ps(mask, from + (2 * k + 1) * row + j)
                             : _mm512_setzero_ps();
      const __m512i both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(odd, even));
      _mm512_storeu_si512(to + 2 * j, _mm512_permutexvar_epi16(turns, both));
    }
}

template <int rows, int vectors>
PRODUCT_BF16 void block(const Block& operands) {
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
  const Bits *left = b.left, *right = b.right;
  for (std::int64_t k = 0; k < b.pairs; ++k, left += 2, right += b.right_row) {
    __m512i row[vectors];
    PRODUCT_UNROLL
    for (int v = 0; v < vectors; ++v) row[v] = _mm512_loadu_si512(right + 2 * v * vector);
    PRODUCT_UNROLL
    for (int i = 0; i < rows; ++i) {
      int pair;
      std::memcpy(&pair, left + i * b.left_row, sizeof pair);
      const __m512i factor = _mm512_set1_epi32(pair);
      PRODUCT_UNROLL
      for (int v = 0; v < vectors; ++v)
        sums[i][v] = _mm512_dpbf16_ps(sums[i][v], reinterpret_cast<__m512bh>(factor),
                                      reinterpret_cast<__m512bh>(row[v]));
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

/// `rows`: 1 to avx512::max_rows(of.columns).
inline void multiply(std::int64_t rows, const Block& operands) {
  constexpr std::int64_t line = 64 / sizeof(Bits);
  for (std::int64_t k = 0; k < operands.prefetch_size; k += line)
    __builtin_prefetch(operands.prefetch + k, 0, 2);
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

}  // namespace product::bf16

#undef PRODUCT_BF16

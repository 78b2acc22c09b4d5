// Blocks of products of 8-bit integers with exact int32 sums. Both sides consist of words of 32
// bits, which hold as many steps of the depth as one instruction multiplies and adds: four bytes
// for AVX512-VNNI, whose left side is unsigned and whose right side is signed, and two 16-bit
// integers for all other instruction sets. Sums wrap around as in two's complement.
#pragma once
#include <cstdint>
#include <cstring>

#include "micro_kernel.hpp"
#if defined(TENON_WIDE_LEVELS)
#include <immintrin.h>
#endif

namespace product::int8 {

using Word = std::uint32_t;

inline constexpr std::int64_t max_columns = 2 * vector;  ///< maximum columns of a block
inline constexpr std::int64_t max_rows = 12;             ///< maximum rows of a block

/// result[rows, columns] = start + left[rows, depth] * right[depth, columns]. Strides are in
/// elements.
struct Block {
  const Word* left;
  std::int64_t left_row;
  const Word* right;          ///< [words][right_row]; whole vectors are readable in each row
  std::int64_t right_row;     ///< a multiple of `vector`
  const std::int32_t* start;  ///< initial sums of each column; whole vectors are readable
  std::int32_t* result;       ///< whole vectors are writable in each row
  std::int64_t result_row;
  std::int64_t columns, words;  ///< columns: 1 to max_columns
};

/// Adds the products of two pairs of 16-bit integers.
inline std::uint32_t add_pair(std::uint32_t sum, Word left, Word right) {
  const auto low = [](Word word) { return static_cast<std::int16_t>(word & 0xffff); };
  const auto high = [](Word word) { return static_cast<std::int16_t>(word >> 16); };
  return sum + static_cast<std::uint32_t>(low(left) * low(right)) +
         static_cast<std::uint32_t>(high(left) * high(right));
}

/// Without vector instructions.
inline void multiply_scalar(std::int64_t rows, const Block& block) {
  const auto width = vectors_of(block.columns) * vector;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::uint32_t sums[max_columns];
    for (std::int64_t j = 0; j < width; ++j) sums[j] = static_cast<std::uint32_t>(block.start[j]);
    for (std::int64_t k = 0; k < block.words; ++k) {
      const Word left = block.left[i * block.left_row + k];
      const Word* const right = block.right + k * block.right_row;
      for (std::int64_t j = 0; j < width; ++j) sums[j] = add_pair(sums[j], left, right[j]);
    }
    std::memcpy(block.result + i * block.result_row, sums,
                static_cast<std::size_t>(width) * sizeof(Word));
  }
}

#if defined(TENON_WIDE_LEVELS)
template <int rows, int vectors>
__attribute__((target("avx512f,avx512bw,avx512vnni"))) void block_vnni(const Block& operands) {
  const Block b = operands;
  __m512i sums[rows][vectors];
  PRODUCT_UNROLL
  for (int i = 0; i < rows; ++i) {
    PRODUCT_UNROLL
    for (int v = 0; v < vectors; ++v) sums[i][v] = _mm512_loadu_si512(b.start + v * vector);
  }
  const Word *left = b.left, *right = b.right;
  for (std::int64_t k = 0; k < b.words; ++k, ++left, right += b.right_row) {
    __m512i row[vectors];
    PRODUCT_UNROLL
    for (int v = 0; v < vectors; ++v) row[v] = _mm512_loadu_si512(right + v * vector);
    PRODUCT_UNROLL
    for (int i = 0; i < rows; ++i) {
      const __m512i factor = _mm512_set1_epi32(static_cast<int>(left[i * b.left_row]));
      PRODUCT_UNROLL
      for (int v = 0; v < vectors; ++v)
        sums[i][v] = _mm512_dpbusd_epi32(sums[i][v], factor, row[v]);
    }
  }
  PRODUCT_UNROLL
  for (int i = 0; i < rows; ++i) {
    PRODUCT_UNROLL
    for (int v = 0; v < vectors; ++v)
      _mm512_storeu_si512(b.result + i * b.result_row + v * vector, sums[i][v]);
  }
}

/// Sixteen columns by pairs.
template <int rows>
__attribute__((target("avx2"))) void block_avx2(const Block& operands) {
  const Block b = operands;
  constexpr int vectors = 2, lanes = 8;
  __m256i sums[rows][vectors];
  PRODUCT_UNROLL
  for (int i = 0; i < rows; ++i) {
    PRODUCT_UNROLL
    for (int v = 0; v < vectors; ++v)
      sums[i][v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b.start + v * lanes));
  }
  const Word *left = b.left, *right = b.right;
  for (std::int64_t k = 0; k < b.words; ++k, ++left, right += b.right_row) {
    __m256i row[vectors];
    PRODUCT_UNROLL
    for (int v = 0; v < vectors; ++v)
      row[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(right + v * lanes));
    PRODUCT_UNROLL
    for (int i = 0; i < rows; ++i) {
      const __m256i factor = _mm256_set1_epi32(static_cast<int>(left[i * b.left_row]));
      PRODUCT_UNROLL
      for (int v = 0; v < vectors; ++v)
        sums[i][v] = _mm256_add_epi32(sums[i][v], _mm256_madd_epi16(factor, row[v]));
    }
  }
  PRODUCT_UNROLL
  for (int i = 0; i < rows; ++i) {
    PRODUCT_UNROLL
    for (int v = 0; v < vectors; ++v)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(b.result + i * b.result_row + v * lanes),
                          sums[i][v]);
  }
}

template <int vectors, int rows = 1>
void rows_by_vnni(std::int64_t count, const Block& operands) {
  if constexpr (rows < max_rows)
    if (count != rows) return rows_by_vnni<vectors, rows + 1>(count, operands);
  block_vnni<rows, vectors>(operands);
}

inline void multiply_vnni(std::int64_t rows, const Block& operands) {
  operands.columns > vector ? rows_by_vnni<2>(rows, operands) : rows_by_vnni<1>(rows, operands);
}

inline constexpr int max_rows_avx2 = 6;

template <int rows = 1>
void rows_by_avx2(std::int64_t count, const Block& operands) {
  if constexpr (rows < max_rows_avx2)
    if (count != rows) return rows_by_avx2<rows + 1>(count, operands);
  block_avx2<rows>(operands);
}

inline void multiply_avx2(std::int64_t rows, const Block& operands) {
  for (std::int64_t column = 0; column < operands.columns; column += vector)
    for (std::int64_t row = 0; row < rows; row += max_rows_avx2) {
      Block block = operands;
      block.left += row * block.left_row;
      block.right += column;
      block.start += column;
      block.result += row * block.result_row + column;
      rows_by_avx2(rows - row < max_rows_avx2 ? rows - row : max_rows_avx2, block);
    }
}
#endif

}  // namespace product::int8

// The exact split of f32 numbers into three bfloat16 numbers (bf16x3), and the packed rows and
// panels that micro_kernel_bf16x3.hpp multiplies.
//
// Steps k and k + 16 of each 32 steps of the depth form a pair, so that no number moves between
// SIMD lanes.
#pragma once
#include "micro_kernel_amx.hpp"
#include "panels.hpp"

#define PRODUCT_SPLIT __attribute__((target("avx512f,avx512bw,avx512vl")))

namespace product::bf16x3 {

using bf16::Bits;

inline constexpr std::int64_t terms = 3;
inline constexpr std::int64_t side = bf16::amx::side;
inline constexpr std::int64_t chunk = 2 * side;     ///< steps of the depth per instruction
inline constexpr std::int64_t panel = 2 * side;     ///< columns of a panel
inline constexpr std::int64_t max_rows = 2 * side;  ///< maximum rows of a block
inline constexpr std::int64_t max_depth = 512;      ///< maximum steps of the depth per pass
/// Distance between split rows; not a power of two, with which all rows would share a few cache
/// sets.
inline constexpr std::int64_t row_step = max_depth + chunk;
inline constexpr std::int64_t chunk_size =
    terms * chunk *
    panel;  ///< numbers in 32 rows of a panel: two tiles for each of the three terms

inline std::int64_t chunks_of(std::int64_t depth) {
  return (depth + chunk - 1) / chunk;
}

/// The bits of sixteen floats. GCC's intrinsics for these operations warn about uninitialized
/// variables of their own.
using Lanes [[gnu::vector_size(64)]] = std::uint32_t;

struct Split {
  Lanes term[terms];
};

/// Splits two vectors: in each term, lane i holds the bfloat16 of low[i] and the one of high[i].
[[gnu::always_inline]] PRODUCT_SPLIT inline Split split(__m512 low, __m512 high) {
  constexpr std::uint32_t half = 0x8000, upper = 0xffff0000;
  Split result;
  PRODUCT_UNROLL
  for (std::int64_t i = 0; i < terms; ++i) {
    const Lanes rounded_low = (reinterpret_cast<Lanes>(low) + half) & upper;
    const Lanes rounded_high = (reinterpret_cast<Lanes>(high) + half) & upper;
    result.term[i] = rounded_low >> 16 | rounded_high;
    low -= reinterpret_cast<__m512>(rounded_low);
    high -= reinterpret_cast<__m512>(rounded_high);
  }
  return result;
}

/// Tracks the largest magnitude. AMX treats numbers below 2^-126 as zero, including split terms and
/// sums; these must be negligible relative to the largest product. So AMX multiplies rows whose
/// maximum is at least 2^-70 and panels whose maximum is at least 2^-30, and below 2^26, which
/// excludes infinities and NaN; all-zero ones are also in range.
struct MaxMagnitude {
  Lanes bits = {};  // the numbers' bits, shifted left to drop the sign

  [[gnu::always_inline]] PRODUCT_SPLIT void see(__m512 numbers) {
    const Lanes size = reinterpret_cast<Lanes>(numbers) << 1;
    bits = size > bits ? size : bits;
  }
  PRODUCT_SPLIT bool is_out_of_range(int min_exponent) const {
    std::uint32_t max_magnitude = 0;
    for (std::int64_t i = 0; i < vector; ++i) max_magnitude = std::max(max_magnitude, bits[i]);
    const auto from = [](int exponent) { return static_cast<std::uint32_t>(127 + exponent) << 24; };
    return max_magnitude != 0 && (max_magnitude < from(min_exponent) || max_magnitude >= from(26));
  }
};
inline constexpr int min_of_rows = -70, min_of_panels = -30;

/// Splits numbers and tracks the largest magnitude.
struct Splitter {
  MaxMagnitude max_magnitude;

  /// Splits 32 steps of the depth of one row or column; the three terms are `term_step` apart.
  [[gnu::always_inline]] PRODUCT_SPLIT void put(__m512 low, __m512 high, Bits* to,
                                                std::int64_t term_step) {
    max_magnitude.see(low);
    max_magnitude.see(high);
    const Split numbers = split(low, high);
    PRODUCT_UNROLL
    for (std::int64_t i = 0; i < terms; ++i)
      _mm512_store_si512(to + i * term_step, reinterpret_cast<__m512i>(numbers.term[i]));
  }
};

/// Loads sixteen numbers if `whole`, otherwise the `left` remaining ones.
template <bool whole>
[[gnu::always_inline]] PRODUCT_SPLIT inline __m512 load(const float* from,
                                                        [[maybe_unused]] std::int64_t left) {
  if constexpr (!whole)
    if (left < vector)
      return left <= 0 ? _mm512_setzero_ps()
                       : _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << left) - 1), from);
  return _mm512_loadu_ps(from);
}

/// Splits `depth` numbers, padded to whole chunks; the three terms are `term_step` apart. Returns
/// whether they are out of range for the split.
PRODUCT_SPLIT inline bool split_row(const float* from, std::int64_t depth, Bits* to,
                                    std::int64_t term_step) {
  Splitter splitter;
  std::int64_t k = 0;
  for (; k + chunk <= depth; k += chunk)
    splitter.put(load<true>(from + k, 0), load<true>(from + k + side, 0), to + k, term_step);
  if (k < depth)
    splitter.put(load<false>(from + k, depth - k), load<false>(from + k + side, depth - k - side),
                 to + k, term_step);
  return splitter.max_magnitude.is_out_of_range(min_of_rows);
}

/// Splits one chunk of a panel of 1 to 32 columns. `depth` is the number of remaining rows, which
/// are `row` apart.
template <bool whole>
[[gnu::always_inline]] PRODUCT_SPLIT inline void split_rows_of_panel(const float* from,
                                                                     std::int64_t row,
                                                                     std::int64_t depth,
                                                                     std::int64_t columns, Bits* to,
                                                                     Splitter& splitter) {
  for (std::int64_t i = 0; i < side; ++i, from += row, to += chunk)
    for (std::int64_t j = 0; j < panel; j += vector)
      splitter.put(load<whole>(from + j, i < depth ? columns - j : 0),
                   load<whole>(from + side * row + j, i + side < depth ? columns - j : 0),
                   to + j * chunk, chunk * panel);
}

/// Splits a panel at `from`. Returns whether it is out of range for the split.
PRODUCT_SPLIT inline bool split_panel(const float* from, std::int64_t row, std::int64_t depth,
                                      std::int64_t columns, Bits* to) {
  Splitter splitter;
  for (; depth > 0; depth -= chunk, from += chunk * row, to += chunk_size)
    if (depth >= chunk && columns == panel)
      split_rows_of_panel<true>(from, row, depth, columns, to, splitter);
    else
      split_rows_of_panel<false>(from, row, depth, columns, to, splitter);
  return splitter.max_magnitude.is_out_of_range(min_of_panels);
}

/// Splits panels whose columns are contiguous in memory (a transposed matrix).
template <bool whole>
[[gnu::always_inline]] PRODUCT_SPLIT inline void split_columns_of_panel(
    const float* from, std::int64_t row, std::int64_t depth, std::int64_t columns, Bits* to,
    Splitter& splitter) {
  alignas(64) Bits rows[terms][side * chunk];
  for (std::int64_t i = 0; i < side; ++i, from += row) {
    const auto left = i < columns ? depth : 0;
    splitter.put(load<whole>(from, left), load<whole>(from + side, left - side),
                 rows[0] + i * chunk, side * chunk);
  }
  for (std::int64_t term = 0; term < terms; ++term)  // a pair of bfloat16 is moved as one float
    avx512::transpose_square(reinterpret_cast<const float*>(rows[term]), side,
                             reinterpret_cast<float*>(to + term * chunk * panel), side);
}
PRODUCT_SPLIT inline bool split_turned_panel(const float* from, std::int64_t row,
                                             std::int64_t depth, std::int64_t columns, Bits* to) {
  Splitter splitter;
  for (; depth > 0; depth -= chunk, from += chunk, to += chunk_size)
    for (std::int64_t j = 0; j < panel; j += side)
      if (depth >= chunk && columns - j >= side)
        split_columns_of_panel<true>(from + j * row, row, depth, columns - j, to + j * chunk,
                                     splitter);
      else
        split_columns_of_panel<false>(from + j * row, row, depth, columns - j, to + j * chunk,
                                      splitter);
  return splitter.max_magnitude.is_out_of_range(min_of_panels);
}

}  // namespace product::bf16x3

#undef PRODUCT_SPLIT

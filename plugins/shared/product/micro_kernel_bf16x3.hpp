// f32 matrix products by AMX, which multiplies only bfloat16 numbers. Each number is the sum of
// three bfloat16 terms (bf16x3.hpp); of the nine products of terms, the six large ones are added.
// The other three are below 2^-23 of the product, about the rounding error of f32. The five smaller
// ones of the six have accumulators of their own, which lose almost nothing to rounding, so the
// results are closer to the exact ones than those of FMA (tests/plugins/linalg/split_products.cpp).
#pragma once
#include "bf16x3.hpp"
#include "tiles.hpp"

#define PRODUCT_AMX __attribute__((target("avx512f,avx512bw,avx512vl,amx-tile,amx-bf16")))

namespace product::bf16x3 {

/// Up to 32 rows of a result and their operands, for one depth block.
struct Strip {
  const Bits* left;  ///< rows from split_row(): [terms][max_rows][row_step]
  std::int64_t rows;
  std::uint32_t left_out;  ///< bit i: row i is not written
  const Bits* right;       ///< panels from split_panel()
  std::int64_t panel_step, columns, chunks;
  Target to;
  Start start;
};

/// The sums of one panel, of large and of small products, that are still to be written to the
/// result.
struct Sums {
  const float *large = nullptr, *small = nullptr;
  float* result = nullptr;
  const float* start = nullptr;
  std::int64_t next = 0, columns = 0;

  /// Writes at most `count` more rows.
  [[gnu::always_inline]] PRODUCT_AMX void write(const Strip& strip, std::int64_t count) {
    const auto end = std::min(next + count, result ? strip.rows : 0);
    for (; next < end; ++next) {
      if ((strip.left_out >> next & 1) != 0) continue;
      PRODUCT_UNROLL
      for (std::int64_t j = 0; j < panel; j += vector) {
        if (columns <= j) break;
        const auto mask =
            static_cast<__mmask16>(columns - j >= vector ? 0xffffu : (1u << (columns - j)) - 1);
        __m512 sum = _mm512_add_ps(_mm512_load_ps(large + next * panel + j),
                                   _mm512_load_ps(small + next * panel + j));
        if (start)
          sum = _mm512_add_ps(_mm512_maskz_loadu_ps(mask, start + next * strip.start.row_size + j),
                              sum);
        _mm512_mask_storeu_ps(result + next * strip.to.row_size + j, mask, sum);
      }
    }
  }
};

/// Offsets of 32 steps of the depth. Padding is multiplied like any other step, with the same
/// effect for each row.
struct Chunk {
  const Bits *left, *right;

  [[gnu::always_inline]] void advance() {
    left += chunk;
    right += chunk_size;
  }
  template <int term, std::int64_t row = 0>
  [[gnu::always_inline]] PRODUCT_AMX void load_rows_4() const {
    _tile_loadd(4, left + (term * max_rows + row) * row_step,
                row_step * std::int64_t{sizeof(Bits)});
  }
  template <int term, std::int64_t row = 0>
  [[gnu::always_inline]] PRODUCT_AMX void load_rows_5() const {
    _tile_loadd(5, left + (term * max_rows + row) * row_step,
                row_step * std::int64_t{sizeof(Bits)});
  }
  template <int term>
  [[gnu::always_inline]] PRODUCT_AMX void load_rows() const {
    load_rows_4<term>();
    load_rows_5<term, side>();
  }
  template <int term>
  [[gnu::always_inline]] PRODUCT_AMX void load_columns() const {
    constexpr auto step = chunk * std::int64_t{sizeof(Bits)};
    _tile_loadd(6, right + term * chunk * panel, step);
    _tile_loadd(7, right + term * chunk * panel + side * chunk, step);
  }
};

[[gnu::always_inline]] PRODUCT_AMX inline void multiply_square() {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

[[gnu::always_inline]] PRODUCT_AMX inline void clear_sums() {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
}

/// Stores four tiles as a square of floats.
[[gnu::always_inline]] PRODUCT_AMX inline void store_square(float* to) {
  constexpr auto step = panel * std::int64_t{sizeof(float)};
  _tile_stored(0, to, step);
  _tile_stored(1, to + side, step);
  _tile_stored(2, to + side * panel, step);
  _tile_stored(3, to + side * panel + side, step);
}

/// Computes a panel's sums for 17 to 32 rows: all tiles accumulate the small products, then the
/// large ones. Meanwhile the previous panel's sums are written.
PRODUCT_AMX inline void sum_two(const Strip& strip, const Bits* right, float* large, float* small,
                                Sums& last) {
  const auto rows_each = strip.chunks > 0 ? (max_rows + strip.chunks - 1) / strip.chunks : 0;
  Chunk at{strip.left, right};
  clear_sums();
  for (std::int64_t k = 0; k < strip.chunks; ++k, at.advance()) {
    at.load_columns<0>();
    at.load_rows<2>();
    multiply_square();
    last.write(strip, rows_each);
    at.load_rows<1>();
    multiply_square();
    at.load_columns<1>();
    multiply_square();
    at.load_rows<0>();
    multiply_square();
    at.load_columns<2>();
    multiply_square();
  }
  store_square(small);
  clear_sums();
  at = {strip.left, right};
  for (std::int64_t k = 0; k < strip.chunks; ++k, at.advance()) {
    at.load_columns<0>();
    at.load_rows<0>();
    multiply_square();
  }
  store_square(large);
}

/// Computes a panel's sums for up to 16 rows at once: tiles 0 and 1 accumulate the large products,
/// 2 and 3 the small ones.
PRODUCT_AMX inline void sum_one(const Strip& strip, const Bits* right, float* large, float* small,
                                Sums& last) {
  const auto rows_each = strip.chunks > 0 ? (max_rows + strip.chunks - 1) / strip.chunks : 0;
  Chunk at{strip.left, right};
  clear_sums();
  for (std::int64_t k = 0; k < strip.chunks; ++k, at.advance()) {
    at.load_columns<0>();
    at.load_rows_4<0>();
    at.load_rows_5<2>();
    multiply_square();
    last.write(strip, rows_each);
    at.load_rows_5<1>();
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    at.load_columns<1>();
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    _tile_dpbf16ps(2, 4, 6);
    _tile_dpbf16ps(3, 4, 7);
    at.load_columns<2>();
    _tile_dpbf16ps(2, 4, 6);
    _tile_dpbf16ps(3, 4, 7);
  }
  constexpr auto step = panel * std::int64_t{sizeof(float)};
  _tile_stored(0, large, step);
  _tile_stored(1, large + side, step);
  _tile_stored(2, small, step);
  _tile_stored(3, small + side, step);
}

/// Computes all panels of a strip, after amx::begin(max_rows).
PRODUCT_AMX inline void multiply(const Strip& strip) {
  alignas(64) float memory[2][2][max_rows * panel];
  Sums last;
  int turn = 0;
  for (std::int64_t column = 0; column < strip.columns; column += panel, turn ^= 1) {
    const Bits* const right = strip.right + column / panel * strip.panel_step;
    float *const large = memory[turn][0], *const small = memory[turn][1];
    bf16::amx::order_memory(right);
    if (strip.rows > side)
      sum_two(strip, right, large, small, last);
    else
      sum_one(strip, right, large, small, last);
    bf16::amx::order_memory(memory);
    last.write(strip, max_rows);
    last = {large,
            small,
            strip.to.data + column,
            strip.start.at(0, column).data,
            0,
            std::min(panel, strip.columns - column)};
  }
  last.write(strip, max_rows);
}

}  // namespace product::bf16x3

#undef PRODUCT_AMX

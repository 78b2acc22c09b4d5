// Blocks of bfloat16 products with f32 sums by AMX: one instruction multiplies sixteen rows by
// sixteen pairs of the depth and by sixteen columns. Both sides are laid out as in
// micro_kernel_bf16.hpp, with the depth padded to a multiple of sixteen pairs.
#pragma once
#include <immintrin.h>

#include "micro_kernel_bf16.hpp"

#define PRODUCT_AMX __attribute__((target("avx512f,amx-tile,amx-bf16")))

namespace product::bf16::amx {

inline constexpr std::int64_t side = 16;  ///< rows, columns, or pairs of the depth of a tile
inline constexpr std::int64_t max_rows = 2 * side;

/// AMX tile configuration: tiles 0 to 3 are sums, 4 and 5 are rows, 6 and 7 are columns.
struct alignas(64) Tiles {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};

  explicit Tiles(std::int64_t block_rows) {
    for (int tile = 0; tile < 8; ++tile) {
      const bool second = tile == 2 || tile == 3 || tile == 5;
      const auto count = tile > 5 ? side : second ? block_rows - side : std::min(block_rows, side);
      rows[tile] = static_cast<std::uint8_t>(std::max<std::int64_t>(count, 1));
      row_bytes[tile] = 64;
    }
  }
};

/// Compiler barrier: GCC's AMX intrinsics do not declare that they access memory.
inline void order_memory(const void* memory) {
  asm volatile("" ::"r"(memory) : "memory");
}

/// Initial sums (or null) and results; strides between rows are in floats.
struct Sums {
  const float* start;
  std::int64_t start_row;
  float* result;
  std::int64_t result_row;
};

/// Prefetches `lines` cache lines for each sixteen pairs: all at once they would stall the
/// multiplications.
struct Prefetch {
  const Bits* next;
  std::int64_t lines;

  [[gnu::always_inline]] void issue() {
    constexpr std::int64_t line = 64 / sizeof(Bits);
    for (std::int64_t i = 0; i < lines; ++i, next += line) __builtin_prefetch(next, 0, 2);
  }
};

/// Computes `rows` by `columns` whole tiles of sums. Initial sums below 2^-126 count as 0.
template <int rows, int columns>
PRODUCT_AMX void sum_tiles(const Block& operands, const Bits* right, const Sums& sums,
                           Prefetch prefetch) {
  const Bits* left = operands.left;
  const auto left_step = operands.left_row * std::int64_t{sizeof(Bits)},
             right_step = operands.right_row * std::int64_t{sizeof(Bits)};
  if (const float* const start = sums.start) {
    const auto step = sums.start_row * std::int64_t{sizeof(float)};
    _tile_loadd(0, start, step);
    if constexpr (columns > 1) _tile_loadd(1, start + side, step);
    if constexpr (rows > 1) _tile_loadd(2, start + side * sums.start_row, step);
    if constexpr (rows > 1 && columns > 1)
      _tile_loadd(3, start + side * sums.start_row + side, step);
  } else {
    _tile_zero(0);
    if constexpr (columns > 1) _tile_zero(1);
    if constexpr (rows > 1) _tile_zero(2);
    if constexpr (rows > 1 && columns > 1) _tile_zero(3);
  }
  for (std::int64_t k = 0; k < operands.pairs;
       k += side, left += 2 * side, right += side * operands.right_row) {
    prefetch.issue();
    _tile_loadd(4, left, left_step);
    _tile_loadd(6, right, right_step);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (columns > 1) {
      _tile_loadd(7, right + 2 * side, right_step);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (rows > 1) {
      _tile_loadd(5, left + side * operands.left_row, left_step);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (columns > 1) _tile_dpbf16ps(3, 5, 7);
    }
  }
  float* const result = sums.result;
  const auto row = sums.result_row, step = row * std::int64_t{sizeof(float)};
  _tile_stored(0, result, step);
  if constexpr (columns > 1) _tile_stored(1, result + side, step);
  if constexpr (rows > 1) _tile_stored(2, result + side * row, step);
  if constexpr (rows > 1 && columns > 1) _tile_stored(3, result + side * row + side, step);
}

/// Copies columns of rows of floats that do not fill a vector.
PRODUCT_AMX inline void copy_columns(const float* from, std::int64_t from_row, std::int64_t rows,
                                     std::int64_t columns, float* to, std::int64_t to_row) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; j += side) {
      const auto mask = static_cast<__mmask16>(0xffffu >> (side - std::min(side, columns - j)));
      _mm512_mask_storeu_ps(to + i * to_row + j, mask,
                            _mm512_maskz_loadu_ps(mask, from + i * from_row + j));
    }
}

/// Configures the tiles for blocks of 1 to max_rows rows.
PRODUCT_AMX inline void begin(std::int64_t rows) {
  const Tiles tiles(rows);
  order_memory(&tiles);
  _tile_loadconfig(&tiles);
}

PRODUCT_AMX inline void end() {
  _tile_release();
}

/// While it lives, all tiles are configured as whole.
struct InTiles {
  InTiles() { begin(max_rows); }
  ~InTiles() { end(); }
  InTiles(const InTiles&) = delete;
  InTiles& operator=(const InTiles&) = delete;
};

/// Computes a block after begin(rows). The depth is a multiple of sixteen pairs.
PRODUCT_AMX inline void multiply(std::int64_t rows, const Block& operands) {
  constexpr std::int64_t line = 64 / sizeof(Bits);
  const auto steps = operands.pairs / side * ((operands.columns + 2 * side - 1) / (2 * side));
  Prefetch prefetch{operands.prefetch,
                    steps == 0 ? 0 : (operands.prefetch_size / line + steps - 1) / steps};
  for (std::int64_t column = 0; column < operands.columns; column += 2 * side) {
    const auto columns = std::min(2 * side, operands.columns - column);
    const auto sum = rows > side ? (columns > side ? sum_tiles<2, 2> : sum_tiles<2, 1>)
                                 : (columns > side ? sum_tiles<1, 2> : sum_tiles<1, 1>);
    const Bits* const right = operands.right + 2 * column;
    const float* const start = operands.start ? operands.start + column : nullptr;
    float* const result = operands.result + column;
    order_memory(right);
    if (columns % side == 0) {
      sum(operands, right, {start, operands.start_row, result, operands.result_row}, prefetch);
    } else {
      alignas(64) float sums[max_rows * max_rows] = {};
      if (start) copy_columns(start, operands.start_row, rows, columns, sums, max_rows);
      order_memory(sums);
      sum(operands, right, {start ? sums : nullptr, max_rows, sums, max_rows}, prefetch);
      order_memory(sums);
      copy_columns(sums, max_rows, rows, columns, result, operands.result_row);
    }
    prefetch.next += operands.pairs / side * prefetch.lines * line;
  }
  order_memory(operands.result);
}

}  // namespace product::bf16::amx

#undef PRODUCT_AMX

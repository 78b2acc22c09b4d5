// Products of windows and weights by AMX. Windows are ranges of numbers in rows; they may overlap,
// as those of a convolution do, and are read in place. As in micro_kernel_amx.hpp, one instruction
// multiplies sixteen windows by sixteen columns of weights and sixteen pairs of the depth.
#pragma once
#include "multiply_bf16.hpp"

#if defined(TENON_WIDE_LEVELS)
#define PRODUCT_AMX __attribute__((target("avx512f,avx512bw,avx512vl,amx-tile,amx-bf16")))

namespace product::bf16::amx {

inline constexpr std::int64_t chunk =
    2 * side;  ///< numbers of a window, or weights of a column, in a tile

/// Windows and the weights of some columns.
struct Windows {
  const Bits* data;  ///< window i begins at data + i * step
  std::int64_t step;
  const std::int64_t* offsets;  ///< offset of each chunk in a window; tiles that are not aligned to
                                ///< a cache line take six times as long to load
  std::int64_t chunks;
  const Bits* weights;  ///< aligned to a cache line; for each chunk, a tile per sixteen columns:
                        ///< [sixteen pairs][sixteen columns][2]
  float* sums;          ///< [windows][columns]
  Prefetch prefetch;  ///< prefetched with each chunk; not with 64 windows at once, because no other
                      ///< weights follow then
};

/// Multiplies `rows` times sixteen windows by `columns` times sixteen columns, after
/// begin(max_rows). At most four tiles of sums.
template <int rows, int columns>
PRODUCT_AMX void sum_windows(const Windows& windows) {
  static_assert(rows * columns <= 4 && rows <= 2);
  constexpr std::int64_t line = chunk * std::int64_t{sizeof(Bits)};
  const auto step = windows.step * std::int64_t{sizeof(Bits)};
  const Bits* weights = windows.weights;
  Prefetch prefetch = windows.prefetch;
  _tile_zero(0);
  if constexpr (columns > 1) _tile_zero(1);
  if constexpr (rows > 1 || columns > 2) _tile_zero(2);
  if constexpr ((rows > 1 && columns > 1) || columns > 3) _tile_zero(3);
  for (std::int64_t k = 0; k < windows.chunks; ++k, weights += columns * side * chunk) {
    const Bits* const data = windows.data + windows.offsets[k];
    prefetch.issue();
    _tile_loadd(4, data, step);
    _tile_loadd(6, weights, line);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (columns > 1) {
      _tile_loadd(7, weights + side * chunk, line);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (rows > 1) {
      _tile_loadd(5, data + side * windows.step, step);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (columns > 1) _tile_dpbf16ps(3, 5, 7);
    } else if constexpr (columns > 2) {
      _tile_loadd(6, weights + 2 * side * chunk, line);
      _tile_dpbf16ps(2, 4, 6);
      if constexpr (columns > 3) {
        _tile_loadd(7, weights + 3 * side * chunk, line);
        _tile_dpbf16ps(3, 4, 7);
      }
    }
  }
  constexpr auto row = columns * side, result = row * std::int64_t{sizeof(float)};
  _tile_stored(0, windows.sums, result);
  if constexpr (columns > 1) _tile_stored(1, windows.sums + side, result);
  if constexpr (rows > 1) {
    _tile_stored(2, windows.sums + side * row, result);
    if constexpr (columns > 1) _tile_stored(3, windows.sums + side * row + side, result);
  } else if constexpr (columns > 2) {
    _tile_stored(2, windows.sums + 2 * side, result);
    if constexpr (columns > 3) _tile_stored(3, windows.sums + 3 * side, result);
  }
}

/// Multiplies 64 windows by sixteen columns.
PRODUCT_AMX inline void sum_many_windows(const Windows& windows) {
  constexpr std::int64_t line = chunk * std::int64_t{sizeof(Bits)};
  const auto step = windows.step * std::int64_t{sizeof(Bits)}, next = side * windows.step;
  const Bits* weights = windows.weights;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t k = 0; k < windows.chunks; ++k, weights += side * chunk) {
    const Bits* const data = windows.data + windows.offsets[k];
    _tile_loadd(6, weights, line);
    _tile_loadd(4, data, step);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(5, data + next, step);
    _tile_dpbf16ps(1, 5, 6);
    _tile_loadd(4, data + 2 * next, step);
    _tile_dpbf16ps(2, 4, 6);
    _tile_loadd(5, data + 3 * next, step);
    _tile_dpbf16ps(3, 5, 6);
  }
  constexpr std::int64_t result = side * sizeof(float);
  _tile_stored(0, windows.sums, result);
  _tile_stored(1, windows.sums + side * side, result);
  _tile_stored(2, windows.sums + 2 * side * side, result);
  _tile_stored(3, windows.sums + 3 * side * side, result);
}

/// How sums are split into tiles.
struct WindowTiles {
  std::int64_t windows, columns;  ///< at once, in units of sixteen: 4 x 1, 2 x 2 or 1 x 4; the last
                                  ///< panel may have fewer columns
};

inline void sum(const WindowTiles& tiles, const Windows& windows) {
  order_memory(windows.data);
  if (tiles.windows == 4)
    sum_many_windows(windows);
  else if (tiles.windows == 2)
    tiles.columns == 2 ? sum_windows<2, 2>(windows) : sum_windows<2, 1>(windows);
  else if (tiles.columns > 2)
    tiles.columns == 4 ? sum_windows<1, 4>(windows) : sum_windows<1, 3>(windows);
  else
    tiles.columns == 2 ? sum_windows<1, 2>(windows) : sum_windows<1, 1>(windows);
  order_memory(windows.sums);
}

/// Sets to[i][j] = sums[i][j] + bias[j]; bias may be null. The rows of `sums` are whole vectors.
PRODUCT_AMX inline void add_bias(const float* sums, std::int64_t sums_row, std::int64_t rows,
                                 std::int64_t columns, const float* bias, float* to,
                                 std::int64_t to_row) {
  for (std::int64_t j = 0; j < columns; j += side) {
    const auto mask = static_cast<__mmask16>(0xffffu >> (side - std::min(side, columns - j)));
    const __m512 start = bias ? _mm512_maskz_loadu_ps(mask, bias + j) : _mm512_setzero_ps();
    for (std::int64_t i = 0; i < rows; ++i)
      _mm512_mask_storeu_ps(to + i * to_row + j, mask,
                            _mm512_add_ps(_mm512_loadu_ps(sums + i * sums_row + j), start));
  }
}

/// Interleaves rows: to[x * rows + y] = from[y * row + x], for x below `width` rounded up to a
/// multiple of 32. Each row of `from` has the rounded number of elements.
class InTurns {
 public:
  static constexpr std::int64_t max_rows = 16;

  explicit InTurns(std::int64_t rows) : rows_(rows) {
    for (std::int64_t i = 0; i < rows * chunk; ++i) {
      const auto at = static_cast<std::size_t>(i);
      sources_[at] = static_cast<std::uint16_t>(i / rows);
      lanes_[static_cast<std::size_t>(i / chunk * max_rows + i % rows)] |= std::uint32_t{1}
                                                                           << i % chunk;
    }
  }

  void operator()(const Bits* from, std::int64_t row, std::int64_t width, Bits* to) const {
    switch (rows_) {  // constants, for speed
      case 3:
        return mix<3>(from, row, width, to);
      case 5:
        return mix<5>(from, row, width, to);
      case 7:
        return mix<7>(from, row, width, to);
      default:
        return mix<max_rows>(from, row, width, to);
    }
  }

 private:
  /// `max_lanes`: at least rows_.
  template <std::int64_t max_lanes>
  PRODUCT_AMX void mix(const Bits* from, std::int64_t row, std::int64_t width, Bits* to) const {
    for (std::int64_t x = 0; x < width; x += chunk)
      for (std::int64_t group = 0; group < rows_; ++group, to += chunk) {
        const __m512i sources = _mm512_loadu_si512(sources_.data() + group * chunk);
        __m512i mixed = _mm512_setzero_si512();
        PRODUCT_UNROLL
        for (std::int64_t y = 0; y < max_lanes; ++y)
          if (max_lanes < max_rows || y < rows_)
            mixed = _mm512_mask_permutexvar_epi16(
                mixed, lanes_[static_cast<std::size_t>(group * max_rows + y)], sources,
                _mm512_loadu_si512(from + y * row + x));
        _mm512_storeu_si512(to, mixed);
      }
  }

  std::int64_t rows_;
  std::array<std::uint16_t, max_rows * chunk>
      sources_{};  // index of each written number in its row
  std::array<std::uint32_t, max_rows * max_rows>
      lanes_{};  // for each written vector, the lanes that come from each row
};

}  // namespace product::bf16::amx

#undef PRODUCT_AMX
#endif

// Finds the tiles of a Winograd convolution whose numbers differ too much in magnitude. Rounding
// errors of Winograd scale with the tile's largest element, those of direct sums with the elements
// of each window: a tile is even if no window's largest element is below a 16th of the tile's.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <tenon/select.hpp>
#include <tenon/wide.hpp>
#include <vector>

#include "../../shared/order.hpp"

/// The largest magnitude of `count` numbers; NaN if there is one.
inline float max_magnitude(const float* numbers, std::int64_t count) {
  float maximum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    if (const float magnitude = __builtin_fabsf(numbers[i]); is_larger(magnitude, maximum))
      maximum = magnitude;
  return maximum;
}

class TileRange {
 public:
  struct Image {
    std::int64_t height, width, channels;  ///< channels: a multiple of 16, contiguous
  };
  /// Elements covered by tiles of 4 x 4 windows: rows and columns are multiples of 4, plus 2.
  /// Elements outside of the image are 0.
  struct Region {
    std::int64_t top, left, rows, columns;
  };
  /// The valid windows of a region; the last tiles may contain others.
  struct Windows {
    std::int64_t rows, columns;
  };

  /// weight: the largest magnitude of the weights. Limits the elements so that intermediate sums do
  /// not overflow if the result does not.
  explicit TileRange(float weight) : end_(weight <= 1 ? 0x1p100f : 0x1p100f / weight) {}

  /// The indices of uneven tiles, row by row.
  std::vector<std::int64_t> uneven_tiles(const float* data, const Image& image,
                                         const Region& region, Windows windows) const {
    windows = {std::min(windows.rows, region.rows - 2),
               std::min(windows.columns, region.columns - 2)};
    std::vector<Bits> maximum(static_cast<std::size_t>(region.rows * region.columns));
    Bits min_bits = 0, max_bits = 0;
    tenon::wide([&, to = maximum.data()] {
      read(data, image, region, to);
      read_columns(region, to);
      min_bits = max_bits = to[0];
      for (std::int64_t y = 0; y < windows.rows; ++y)
        extend(to + y * region.columns, windows.columns, min_bits, max_bits);
    });
    std::vector<std::int64_t> uneven_indices;
    if (is_even(min_bits, max_bits)) return uneven_indices;
    const auto across = (region.columns - 2) / tile_side;
    for (std::int64_t tile = 0; tile < across * ((region.rows - 2) / tile_side); ++tile) {
      const auto top = tile / across * tile_side, left = tile % across * tile_side;
      const Bits* const first = maximum.data() + top * region.columns + left;
      Bits low = *first, high = *first;
      for (std::int64_t y = 0; y < std::min(tile_side, windows.rows - top); ++y)
        extend(first + y * region.columns, std::min(tile_side, windows.columns - left), low, high);
      if (!is_even(low, high)) uneven_indices.push_back(tile);
    }
    return uneven_indices;
  }

 private:
  using Bits = std::int32_t;  // of magnitudes, which sort like the numbers, with NaN above infinity
  typedef Bits Sixteen __attribute__((vector_size(64)));
  typedef Bits Eight __attribute__((vector_size(32)));
  typedef Bits Four __attribute__((vector_size(16)));
  static constexpr std::int64_t tile_side = 4;
  static constexpr float max_ratio = 16, tiny = 0x1p-96f;

  /// Whether windows with these smallest and largest maxima may share a tile.
  bool is_even(Bits min_bits, Bits max_bits) const {
    const auto low = tenon::bits_as<float>(min_bits), high = tenon::bits_as<float>(max_bits);
    return high <= max_ratio * low && high < end_ && (high == 0 || high >= tiny);
  }

  [[gnu::always_inline]] static void extend(const Bits* from, std::int64_t count, Bits& min_bits,
                                            Bits& max_bits) {
    Bits low = min_bits, high = max_bits;
    for (std::int64_t i = 0; i < count; ++i)
      low = std::min(low, from[i]), high = std::max(high, from[i]);
    min_bits = low, max_bits = high;
  }

  /// The largest magnitude among the channels of each element.
  [[gnu::always_inline]] static void read(const float* data, const Image& image,
                                          const Region& region, Bits* to) {
    const auto first = std::max<std::int64_t>(region.left, 0),
               last = std::min(region.left + region.columns, image.width);
    for (auto y = std::max<std::int64_t>(region.top, 0);
         y < std::min(region.top + region.rows, image.height); ++y) {
      Bits* const row = to + (y - region.top) * region.columns - region.left;
      const float* const from = data + y * image.width * image.channels;
      auto x = first;
      for (; x + 4 <= last; x += 4) {  // four at once, since the last steps take as long for one
        Four all[4];
        for (std::int64_t i = 0; i < 4; ++i)
          all[i] = in_four(from + (x + i) * image.channels, image.channels);
        Four left = __builtin_shufflevector(all[0], all[1], 0, 4, 1, 5),
             right = __builtin_shufflevector(all[2], all[3], 0, 4, 1, 5);
        raise(left, __builtin_shufflevector(all[0], all[1], 2, 6, 3, 7));
        raise(right, __builtin_shufflevector(all[2], all[3], 2, 6, 3, 7));
        Four found = __builtin_shufflevector(left, right, 0, 1, 4, 5);
        raise(found, __builtin_shufflevector(left, right, 2, 3, 6, 7));
        std::memcpy(row + x, &found, sizeof found);
      }
      for (; x < last; ++x) {
        const Four all = in_four(from + x * image.channels, image.channels);
        row[x] = std::max(std::max(all[0], all[1]), std::max(all[2], all[3]));
      }
    }
  }

  template <class Vector>
  [[gnu::always_inline]] static void raise(Vector& maximum, const Vector& other) {
    maximum = maximum > other ? maximum : other;
  }

  /// The largest of every fourth channel.
  [[gnu::always_inline]] static Four in_four(const float* element, std::int64_t channels) {
    Sixteen maximum{};
    for (std::int64_t channel = 0; channel < channels; channel += 16) {
      Sixteen bits;
      std::memcpy(&bits, element + channel, sizeof bits);
      raise(maximum, bits & 0x7fffffff);
    }
    Eight half = __builtin_shufflevector(maximum, maximum, 0, 1, 2, 3, 4, 5, 6, 7);
    raise(half, __builtin_shufflevector(maximum, maximum, 8, 9, 10, 11, 12, 13, 14, 15));
    Four quarter = __builtin_shufflevector(half, half, 0, 1, 2, 3);
    raise(quarter, __builtin_shufflevector(half, half, 4, 5, 6, 7));
    return quarter;
  }

  /// Replaces each element, except the last two of each axis, by the maximum of the window that
  /// begins there.
  [[gnu::always_inline]] static void read_columns(const Region& region, Bits* to) {
    const auto columns = region.columns;
    for (std::int64_t y = 0; y < region.rows; ++y) {
      Bits* const at = to + y * columns;
      for (std::int64_t x = 0; x < columns - 2; ++x)
        at[x] = std::max(std::max(at[x], at[x + 1]), at[x + 2]);
    }
    for (std::int64_t y = 0; y + 2 < region.rows; ++y) {
      Bits* const at = to + y * columns;
      for (std::int64_t x = 0; x < columns - 2; ++x)
        at[x] = std::max(std::max(at[x], at[columns + x]), at[2 * columns + x]);
    }
  }

  float end_;
};

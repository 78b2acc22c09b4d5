// Convolution with 3 x 3 filters and a quarter of the multiplications (Winograd; Lavin and Gray,
// "Fast Algorithms for Convolutional Neural Networks", 2016): tiles of 4 x 4 output positions are
// computed from 6 x 6 elements, as 36 matrix products of transformed data and transformed weights.
// Rounding errors scale with the largest element of a tile, and are about twice those of direct
// sums if all windows have elements of its size. Tiles whose numbers differ too much in magnitude,
// are infinite or NaN are computed as direct sums (tile_range.hpp).
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "../../shared/product/fma.hpp"
#include "convolution_steps.hpp"
#include "packed_weights.hpp"
#include "tile_range.hpp"

class WinogradConvolution {
 public:
  WinogradConvolution(const Window& window, const ConvolutionShape& shape)
      : samples_(shape.data[0]),
        channels_(shape.data[1]),
        filters_(shape.output[1]),
        height_(shape.data[2]),
        width_(shape.data[3]),
        rows_(shape.output[2]),
        columns_(shape.output[3]),
        top_(-window.pad[0]),
        left_(-window.pad[1]) {}

  /// The last element is the largest magnitude of the weights.
  std::size_t packed_bytes() const {
    return static_cast<std::size_t>(points * factor_size() + 1) * sizeof(float);
  }
  std::string packing() const {
    return tenon::join(points, " transformed, ", product::packing(), " of ", channels_, " x ",
                       filters_);
  }

  /// weight: [filters, channels, 3, 3]. each(count, body) calls body(i) for i below count, on any
  /// thread.
  template <class Each = OneByOne>
  void pack(const float* weight, void* to, const Each& each = {}) const {
    static_cast<float*>(to)[points * factor_size()] =
        max_magnitude(weight, filters_ * channels_ * 9);
    std::vector<float> factors(static_cast<std::size_t>(points * channels_ * filters_));
    each(channels_, [&](std::int64_t channel) {
      transform_weights(weight, channel, factors.data() + channel * filters_);
    });
    each(points, [&](std::int64_t point) {
      const float* const from = factors.data() + point * channels_ * filters_;
      product::pack({from, filters_, false}, channels_, filters_,
                    static_cast<float*>(to) + point * factor_size());
    });
  }

  /// packed: the weights as pack() leaves them, or null. after(first, count) is called for all
  /// elements of output.
  template <class After>
  void forward(const tenon::Call& call, const float* data, const float* weight, const void* packed,
               const float* bias, float* output, After&& after) const {
    const PackedWeights made(call, *this, weight, packed, 1 + 64 * 64 / filters_);
    const auto* const factors = static_cast<const float*>(made.data());
    const TileRange range(factors[points * factor_size()]);
    Sums sums(weight, channels_ * 9, filters_);
    const auto grid = cut(call);
    call.parallel_for(
        samples_ * grid.down * grid.across, 1, [&](std::int64_t begin, std::int64_t end) {
          for (auto i = begin; i < end; ++i) {
            const auto sample = i / grid.across / grid.down;
            const auto down = chunk_range(tiles(rows_), i / grid.across % grid.down, grid.down);
            const auto across = chunk_range(tiles(columns_), i % grid.across, grid.across);
            float* const to = output + sample * rows_ * columns_ * filters_;
            run_chunk(
                {data + sample * height_ * width_ * channels_, factors, bias, to, range, sums},
                down, across);
            const auto top = down.first * outputs, bottom = std::min(down.last * outputs, rows_);
            const auto left = across.first * outputs,
                       right = std::min(across.last * outputs, columns_);
            const auto begin_of = [&](std::int64_t row) {
              return to - output + (row * columns_ + left) * filters_;
            };
            if (grid.across == 1)
              after(begin_of(top), (bottom - top) * columns_ * filters_);
            else
              for (auto row = top; row < bottom; ++row)
                after(begin_of(row), (right - left) * filters_);
          }
        });
  }

 private:
  static constexpr std::int64_t outputs = 4, reach = 6, points = reach * reach;
  static constexpr std::int64_t vector = product::vector, block = product::max_columns;
  static constexpr std::int64_t max_tiles = 64;  // per chunk

  /// Polynomials are multiplied via their values at 0, near, -near, far, -far and infinity. Points
  /// close to the square roots of 1/2 and 2 keep errors small (a quarter of those with 1 and 2),
  /// and powers of these two are exact.
  static constexpr float near = 11.f / 16, far = 23.f / 16, near2 = near * near, far2 = far * far;

  typedef float Vector __attribute__((vector_size(64)));

  /// Number of chunks of a sample's tiles. Results do not depend on it.
  struct Cut {
    std::int64_t down, across;
  };
  struct Range {
    std::int64_t first, last;
    std::int64_t size() const { return last - first; }
  };
  /// The weights for direct sums, packed on first use.
  class Sums {
   public:
    Sums(const float* weight, std::int64_t depth, std::int64_t filters)
        : weight_(weight), depth_(depth), filters_(filters) {}
    const float* packed() {
      std::call_once(once_, [&] {
        packed_.reserve(static_cast<std::size_t>(product::packed_size(depth_, filters_)) *
                        sizeof(float));
        product::pack({weight_, depth_, true}, depth_, filters_,
                      reinterpret_cast<float*>(packed_.data()));
      });
      return reinterpret_cast<const float*>(packed_.data());
    }

   private:
    const float* weight_;
    std::int64_t depth_, filters_;
    onednn::Buffer packed_;
    std::once_flag once_;
  };
  struct Operands {
    const float *data, *factors, *bias;
    float* output;
    const TileRange& range;
    Sums& sums;
  };

  static std::int64_t tiles(std::int64_t size) { return rounded_up(size, outputs); }
  std::int64_t factor_size() const { return product::packed_size(channels_, filters_); }

  Cut cut(const tenon::Call& call) const {
    const auto threads = std::int64_t{call.threads()}, all = tiles(rows_);
    const auto across = rounded_up(tiles(columns_), max_tiles),
               width = rounded_up(tiles(columns_), across);
    const auto target =
        threads == 1 ? 1 : rounded_up(2 * threads, std::max<std::int64_t>(samples_, 1) * across);
    return {std::min(all, std::max(rounded_up(all, std::max<std::int64_t>(max_tiles / width, 1)),
                                   target)),
            across};
  }
  static std::int64_t rounded_up(std::int64_t size, std::int64_t divisor) {
    return (size + divisor - 1) / divisor;
  }
  static Range chunk_range(std::int64_t size, std::int64_t i, std::int64_t count) {
    return {size * i / count, size * (i + 1) / count};
  }

  /// Transforms the weights of one channel for all filters, in double: to[point * channels *
  /// filters + filter].
  void transform_weights(const float* weight, std::int64_t channel, float* to) const {
    tenon::wide([=, filters = filters_, filter_size = channels_ * 9, next = channels_ * filters_] {
      constexpr std::int64_t lanes = 8;
      typedef double Doubles __attribute__((vector_size(64)));
      constexpr double n = near, f = far, near_scale = 1 / (2 * n * n * (n * n - f * f)),
                       far_scale = 1 / (2 * f * f * (f * f - n * n));
      const auto see = [&](const Doubles& a, const Doubles& b, const Doubles& c, Doubles* seen,
                           std::int64_t step) {
        const Doubles near_even = near_scale * (a + n * n * c), near_odd = near_scale * n * b;
        const Doubles far_even = far_scale * (a + f * f * c), far_odd = far_scale * f * b;
        seen[0] = a * (1 / (n * n * f * f));
        seen[step] = near_even + near_odd;
        seen[2 * step] = near_even - near_odd;
        seen[3 * step] = far_even + far_odd;
        seen[4 * step] = far_even - far_odd;
        seen[5 * step] = c;
      };
      for (std::int64_t filter = 0; filter < filters; filter += lanes) {
        Doubles taps[9], half[3 * reach];
        for (std::int64_t k = 0; k < 9; ++k)
          for (std::int64_t lane = 0; lane < lanes; ++lane)
            taps[k][lane] = weight[(filter + lane) * filter_size + channel * 9 + k];
        for (std::int64_t x = 0; x < 3; ++x) see(taps[x], taps[3 + x], taps[6 + x], half + x, 3);
        for (std::int64_t y = 0; y < reach; ++y) {
          Doubles row[reach];
          see(half[3 * y], half[3 * y + 1], half[3 * y + 2], row, 1);
          for (std::int64_t x = 0; x < reach; ++x)
            for (std::int64_t lane = 0; lane < lanes; ++lane)
              to[(y * reach + x) * next + filter + lane] = static_cast<float>(row[x][lane]);
        }
      }
    });
  }

  void run_chunk(const Operands& operands, const Range& down, const Range& across) const {
    const auto count = down.size() * across.size();
    const auto top = [&](std::int64_t tile) {
      return (down.first + tile / across.size()) * outputs;
    };
    const auto left = [&](std::int64_t tile) {
      return (across.first + tile % across.size()) * outputs;
    };
    // First, so that the elements it reads are in the cache for the tiles.
    const TileRange::Region region{top(0) + top_, left(0) + left_, down.size() * outputs + 2,
                                   across.size() * outputs + 2};
    const auto uneven = operands.range.uneven_tiles(operands.data, {height_, width_, channels_},
                                                    region, {rows_ - top(0), columns_ - left(0)});
    // Padded by some vectors, because products at power-of-two distances would share few cache
    // sets.
    const auto seen = count * channels_ + vector, made = count * block + vector;
    auto* const transformed = reinterpret_cast<float*>(
        onednn::scratch(static_cast<std::size_t>(points * (seen + made)) * sizeof(float)));
    float* const sums = transformed + points * seen;
    for (std::int64_t tile = 0; tile < count; ++tile)
      read_tile(operands.data, top(tile) + top_, left(tile) + left_, transformed + tile * channels_,
                seen);
    const product::FmaArithmetic arithmetic({count, filters_, channels_});
    for (std::int64_t filter = 0; filter < filters_; filter += block) {
      const auto width = std::min(block, filters_ - filter);
      for (std::int64_t point = 0; point < points; ++point)
        arithmetic.multiply_tile({transformed + point * seen, channels_, false},
                                 {{nullptr, 0, false}, operands.factors + point * factor_size()},
                                 {sums + point * made, block}, {}, {0, count, filter, width});
      for (std::int64_t tile = 0; tile < count; ++tile)
        write_tile(sums + tile * block, made, top(tile), left(tile), operands, filter, width);
    }
    for (const auto tile : uneven) sum_tile(top(tile), left(tile), operands);
  }

  /// The positions from (y, x) of the output on as direct sums: a matrix of windows times the
  /// weights.
  void sum_tile(std::int64_t y, std::int64_t x, const Operands& operands) const {
    const auto down = std::min(outputs, rows_ - y), across = std::min(outputs, columns_ - x),
               rows = down * across, depth = channels_ * 9;
    auto* const windows = reinterpret_cast<float*>(
        onednn::scratch(static_cast<std::size_t>(rows * (depth + block)) * sizeof(float)));
    float *const sums = windows + rows * depth, *to = windows;
    for (std::int64_t row = 0; row < rows; ++row, to += depth)
      for (std::int64_t tap = 0; tap < 9; ++tap) {
        const auto i = y + row / across + tap / 3 + top_, j = x + row % across + tap % 3 + left_;
        const bool inside = i >= 0 && i < height_ && j >= 0 && j < width_;
        const float* const from = operands.data + (i * width_ + j) * channels_;
        for (std::int64_t channel = 0; channel < channels_; ++channel)
          to[channel * 9 + tap] = inside ? from[channel] : 0;
      }
    const product::FmaArithmetic arithmetic({rows, filters_, depth});
    for (std::int64_t filter = 0; filter < filters_; filter += block) {
      const auto width = std::min(block, filters_ - filter);
      arithmetic.multiply_tile({windows, depth, false},
                               {{nullptr, 0, false}, operands.sums.packed()}, {sums, block}, {},
                               {0, rows, filter, width});
      for (std::int64_t row = 0; row < rows; ++row) {
        float* const row_sums = operands.output +
                                ((y + row / across) * columns_ + x + row % across) * filters_ +
                                filter;
        for (std::int64_t k = 0; k < width; ++k)
          row_sums[k] = sums[row * block + k] + (operands.bias ? operands.bias[filter + k] : 0);
      }
    }
  }

  [[gnu::always_inline]] static void load(const float* from, Vector& to) {
    std::memcpy(&to, from, sizeof to);
  }
  [[gnu::always_inline]] static void store(const Vector& vector, float* to) {
    std::memcpy(to, &vector, sizeof vector);
  }

  [[gnu::always_inline]] static void see(const Vector& d0, const Vector& d1, const Vector& d2,
                                         const Vector& d3, const Vector& d4, const Vector& d5,
                                         Vector* to, std::int64_t step) {
    const Vector even = d4 - far2 * d2, odd = near * (d3 - far2 * d1), far_even = d4 - near2 * d2,
                 far_odd = far * (d3 - near2 * d1);
    to[0] = near2 * far2 * d0 - (near2 + far2) * d2 + d4;
    to[step] = even + odd;
    to[2 * step] = even - odd;
    to[3 * step] = far_even + far_odd;
    to[4 * step] = far_even - far_odd;
    to[5 * step] = near2 * far2 * d1 - (near2 + far2) * d3 + d5;
  }

  [[gnu::always_inline]] static void make(const Vector& m0, const Vector& m1, const Vector& m2,
                                          const Vector& m3, const Vector& m4, const Vector& m5,
                                          Vector* to, std::int64_t step) {
    const Vector even = m1 + m2, odd = m1 - m2, far_even = m3 + m4, far_odd = m3 - m4;
    to[0] = m0 + even + far_even;
    to[step] = near * odd + far * far_odd;
    to[2 * step] = near2 * even + far2 * far_even;
    to[3 * step] = near * near2 * odd + far * far2 * far_odd + m5;
  }

  /// Reads the tile that begins at (y, x) of data, which is surrounded by zeros.
  void read_tile(const float* data, std::int64_t y, std::int64_t x, float* to,
                 std::int64_t next) const {
    const bool inside = y >= 0 && x >= 0 && y + reach <= height_ && x + reach <= width_;
    tenon::wide([=, height = height_, width = width_, channels = channels_] {
      for (std::int64_t channel = 0; channel < channels; channel += vector) {
        Vector half[points];
        for (std::int64_t j = 0; j < reach; ++j) {
          Vector column[reach]{};
          for (std::int64_t i = 0; i < reach; ++i)
            if (inside || (y + i >= 0 && y + i < height && x + j >= 0 && x + j < width))
              load(data + ((y + i) * width + x + j) * channels + channel, column[i]);
          see(column[0], column[1], column[2], column[3], column[4], column[5], half + j, reach);
        }
        for (std::int64_t i = 0; i < reach; ++i) {
          const Vector* const row = half + i * reach;
          Vector seen[reach];
          see(row[0], row[1], row[2], row[3], row[4], row[5], seen, 1);
          for (std::int64_t j = 0; j < reach; ++j)
            store(seen[j], to + (i * reach + j) * next + channel);
        }
      }
    });
  }

  /// Writes the positions from (y, x) of the output on, as far as they exist.
  void write_tile(const float* sums, std::int64_t next, std::int64_t y, std::int64_t x,
                  const Operands& operands, std::int64_t filter, std::int64_t width) const {
    const auto down = std::min(outputs, rows_ - y), across = std::min(outputs, columns_ - x);
    float* const to = operands.output + (y * columns_ + x) * filters_ + filter;
    const float* const bias = operands.bias ? operands.bias + filter : nullptr;
    tenon::wide([=, filters = filters_, row_size = columns_ * filters_] {
      for (std::int64_t i = 0; i < width; i += vector) {
        Vector half[outputs * reach];
        for (std::int64_t j = 0; j < reach; ++j) {
          Vector column[reach];
          for (std::int64_t k = 0; k < reach; ++k)
            load(sums + (k * reach + j) * next + i, column[k]);
          make(column[0], column[1], column[2], column[3], column[4], column[5], half + j, reach);
        }
        Vector start{};
        if (bias) load(bias + i, start);
        for (std::int64_t k = 0; k < down; ++k) {
          const Vector* const row = half + k * reach;
          Vector made[outputs];
          make(row[0], row[1], row[2], row[3], row[4], row[5], made, 1);
          for (std::int64_t j = 0; j < across; ++j)
            store(made[j] + start, to + k * row_size + j * filters + i);
        }
      }
    });
  }

  std::int64_t samples_, channels_, filters_, height_, width_, rows_, columns_, top_, left_;
};

// Results of products of quantized integers: their exact sums as int32, or
// activation(sum * scale + bias) in float32 or quantized.
#pragma once
#include <algorithm>
#include <limits>
#include <tenon/operator.hpp>
#include <vector>

#include "activation.hpp"
#include "product/multiply_int8.hpp"
#include "rounded_quotients.hpp"

/// For one call. Each float32 step is rounded once, as by separate operators.
class SumResults {
 public:
  using Sum = product::int8::Sum;

  /// `scales`: of the right side's columns, or a single one; empty: results are the sums. `bias`:
  /// of each column, or null.
  SumResults(std::int64_t columns, float left_scale, const std::vector<float>& scales,
             const float* bias)
      : scale_(static_cast<std::size_t>(product::int8::padded(columns))), bias_(scale_.size()) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(columns) && !scales.empty(); ++j)
      scale_[j] = left_scale * scales[scales.size() == 1 ? 0 : j];
    if (bias) std::copy_n(bias, columns, bias_.begin());
  }

  /// Writes rows of sums that are max_columns apart, as int32, float32 or 8-bit integers. `to`: the
  /// first element; rows are `to_row` apart.
  void write(const product::Tile& tile, const Sum* sums, Sum* to, std::int64_t to_row) const {
    for (std::int64_t i = 0; i < tile.rows; ++i)
      std::copy_n(sums + i * product::int8::max_columns, tile.columns, to + i * to_row);
  }
  void write(const WithActivation& layer, const product::Tile& tile, const Sum* sums, float* to,
             std::int64_t to_row) const {
    scale_rows(tile, sums, to, to_row);
    layer.activate(to, static_cast<const float*>(nullptr),
                   WithActivation::Rows{tile.rows, tile.columns, to_row});
  }
  template <class Y>
  void write(const WithActivation& layer, const quantization::Quotients& quotients,
             const product::Tile& tile, const Sum* sums, Y* to, std::int64_t to_row) const {
    const auto [low, high] = limits_of(layer);
    if (low <= high) return quantize_rows(quotients, low, high, tile, sums, to, to_row);
    constexpr auto step = product::int8::max_columns;
    float numbers[product::int8::RowGroup::max_size * step] = {};
    write(layer, tile, sums, numbers, step);
    for (std::int64_t i = 0; i < tile.rows; ++i)
      quotients.quantize(numbers + i * step, tile.columns, to + i * to_row);
  }

 private:
  using Quotients = quantization::Quotients;
  struct Limits {
    float low, high;
  };
  /// Activations that only limit their argument; otherwise low > high.
  static Limits limits_of(const WithActivation& layer) {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    switch (layer.activation) {
      case ActivationKind::none:
        return {-infinity, infinity};
      case ActivationKind::relu:
        return {0, infinity};
      case ActivationKind::clip:
        return {static_cast<float>(layer.low), static_cast<float>(layer.high)};
      default:
        return {1, -1};
    }
  }

  /// Sets x[0] to x[step - 1]. All arrays have whole vectors.
  template <std::int64_t step>
  [[gnu::always_inline]] static void scale_step(const Sum* sums, const float* scale,
                                                const float* bias, float* x) {
    for (std::int64_t k = 0; k < step; ++k) x[k] = static_cast<float>(sums[k]) * scale[k] + bias[k];
  }

  void scale_rows(const product::Tile& tile, const Sum* sums, float* to,
                  std::int64_t to_row) const {
    constexpr auto step = Quotients::step;
    const float *const scale = scale_.data() + tile.column, *const bias =
                                                                bias_.data() + tile.column;
    const auto rows = tile.rows, columns = tile.columns;
    tenon::wide([=] {
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; j += step) {
          float x[step];
          scale_step<step>(sums + i * product::int8::max_columns + j, scale + j, bias + j, x);
          store(x, std::min(step, columns - j), to + i * to_row + j);
        }
    });
  }

  template <class Y>
  void quantize_rows(const Quotients& quotients, float low, float high, const product::Tile& tile,
                     const Sum* sums, Y* to, std::int64_t to_row) const {
    constexpr auto step = Quotients::step;
    const float *const scale = scale_.data() + tile.column, *const bias =
                                                                bias_.data() + tile.column;
    const auto rows = tile.rows, columns = tile.columns;
    tenon::wide([=] {
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; j += step) {
          float x[step];
          Y y[step];
          scale_step<step>(sums + i * product::int8::max_columns + j, scale + j, bias + j, x);
          for (std::int64_t k = 0; k < step; ++k)
            x[k] = tenon::select(x[k] < low, low, tenon::select(x[k] > high, high, x[k]));
          quotients.quantize_step(x, y);
          store(y, std::min(step, columns - j), to + i * to_row + j);
        }
    });
  }

  template <class T>
  [[gnu::always_inline]] static void store(const T* from, std::int64_t count, T* to) {
    if (count == Quotients::step)
      std::memcpy(to, from, Quotients::step * sizeof(T));
    else
      std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  }

  std::vector<float> scale_, bias_;
};

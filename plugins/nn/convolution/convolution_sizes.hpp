// The sizes of a convolution for CUDA code.
#pragma once
#include "shared/block_sums.hpp"
#include "shared/sliding.hpp"

namespace convolution {

/// data is [batch, channels, elements], output [batch, filters, positions], weight [filters,
/// group_channels, taps].
struct Sizes {
  Sliding geometry;
  std::int64_t batch, channels, filters, groups;
  friend bool operator==(const Sizes&, const Sizes&) = default;

  static Sizes of(const Window& window, const tenon::Shape& data, const tenon::Shape& output,
                  std::int64_t groups) {
    return {Sliding::of(window, data, output), data[0], data[1], output[1], groups};
  }
  TENON_FN std::int64_t elements() const { return Sliding::count(geometry.size); }
  TENON_FN std::int64_t positions() const { return Sliding::count(geometry.positions); }
  TENON_FN std::int64_t taps() const { return Sliding::count(geometry.kernel); }
  TENON_FN std::int64_t group_channels() const { return channels / groups; }
  TENON_FN std::int64_t group_filters() const { return filters / groups; }

  BlockSums weight_sums() const {
    return BlockSums::of(filters * group_channels() * taps(), batch * positions());
  }
  BlockSums bias_sums() const { return BlockSums::of(filters, batch * positions()); }
};

/// Operands of the three products of a convolution.
struct ForwardTensors {
  const float *data, *weight;
  float* output;
};
struct DataGradientTensors {
  const float *dy, *weight;
  float* dx;
};
struct WeightGradientTensors {
  const float *data, *dy;
  float* dw;
};

}  // namespace convolution

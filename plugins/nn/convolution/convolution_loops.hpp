// Convolution on a CUDA device with plain loops: one thread for each element, one block for each
// sum over the batch.
#pragma once
#include "convolution_sizes.hpp"

namespace convolution {

struct OutputElement {
  Sizes sizes;
  const float *data, *weight, *bias;  // bias: may be null
  float* output;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto positions = sizes.positions(), elements = sizes.elements(), taps = sizes.taps(),
               depth = sizes.group_channels();
    const auto filter = i / positions % sizes.filters, sample = i / positions / sizes.filters;
    const auto position = Sliding::point(sizes.geometry.positions, i % positions);
    const float* const from =
        data + (sample * sizes.channels + filter / sizes.group_filters() * depth) * elements;
    float sum = bias ? bias[filter] : 0;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const auto at = sizes.geometry.element(position, Sliding::point(sizes.geometry.kernel, tap));
      if (at < 0) continue;
      for (std::int64_t c = 0; c < depth; ++c)
        sum += from[c * elements + at] * weight[(filter * depth + c) * taps + tap];
    }
    output[i] = sum;
  }
};

/// Adds the bias to a library's result.
struct AddBias {
  const float* bias;
  std::int64_t filters, positions;
  float* output;
  TENON_DEVICE void operator()(std::int64_t i) const { output[i] += bias[i / positions % filters]; }
};

struct DataGradient {
  Sizes sizes;
  const float *dy, *weight;
  float* dx;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto positions = sizes.positions(), elements = sizes.elements(), taps = sizes.taps(),
               depth = sizes.group_channels();
    const auto channel = i / elements % sizes.channels, sample = i / elements / sizes.channels;
    const auto element = Sliding::point(sizes.geometry.size, i % elements);
    const auto group = channel / depth, first = group * sizes.group_filters();
    float sum = 0;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const auto at =
          sizes.geometry.output_index(element, Sliding::point(sizes.geometry.kernel, tap));
      if (at < 0) continue;
      for (auto filter = first; filter < first + sizes.group_filters(); ++filter)
        sum += dy[(sample * sizes.filters + filter) * positions + at] *
               weight[(filter * depth + channel % depth) * taps + tap];
    }
    dx[i] = sum;
  }
};

/// Summand t of the gradient of weight `w`, over all output positions of the batch.
struct WeightTerm {
  Sizes sizes;
  const float *data, *dy;

  TENON_DEVICE double operator()(std::int64_t w, std::int64_t t) const {
    const auto positions = sizes.positions(), taps = sizes.taps(), depth = sizes.group_channels();
    const auto filter = w / taps / depth,
               channel = filter / sizes.group_filters() * depth + w / taps % depth,
               sample = t / positions;
    const auto at = sizes.geometry.element(Sliding::point(sizes.geometry.positions, t % positions),
                                           Sliding::point(sizes.geometry.kernel, w % taps));
    if (at < 0) return 0;
    return data[(sample * sizes.channels + channel) * sizes.elements() + at] *
           dy[(sample * sizes.filters + filter) * positions + t % positions];
  }
};

struct BiasTerm {
  Sizes sizes;
  const float* dy;

  TENON_DEVICE double operator()(std::int64_t filter, std::int64_t t) const {
    const auto positions = sizes.positions();
    return dy[(t / positions * sizes.filters + filter) * positions + t % positions];
  }
};

}  // namespace convolution

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
    const auto places = sizes.places(), elements = sizes.elements(), taps = sizes.taps(),
               depth = sizes.group_channels();
    const auto filter = i / places % sizes.filters, sample = i / places / sizes.filters;
    const auto place = Sliding::point(sizes.way.places, i % places);
    const float* const from =
        data + (sample * sizes.channels + filter / sizes.group_filters() * depth) * elements;
    float sum = bias ? bias[filter] : 0;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const auto at = sizes.way.element(place, Sliding::point(sizes.way.kernel, tap));
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
  std::int64_t filters, places;
  float* output;
  TENON_DEVICE void operator()(std::int64_t i) const { output[i] += bias[i / places % filters]; }
};

struct DataGradient {
  Sizes sizes;
  const float *dy, *weight;
  float* dx;

  TENON_DEVICE void operator()(std::int64_t i) const {
    const auto places = sizes.places(), elements = sizes.elements(), taps = sizes.taps(),
               depth = sizes.group_channels();
    const auto channel = i / elements % sizes.channels, sample = i / elements / sizes.channels;
    const auto element = Sliding::point(sizes.way.size, i % elements);
    const auto group = channel / depth, first = group * sizes.group_filters();
    float sum = 0;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const auto at = sizes.way.place(element, Sliding::point(sizes.way.kernel, tap));
      if (at < 0) continue;
      for (auto filter = first; filter < first + sizes.group_filters(); ++filter)
        sum += dy[(sample * sizes.filters + filter) * places + at] *
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
    const auto places = sizes.places(), taps = sizes.taps(), depth = sizes.group_channels();
    const auto filter = w / taps / depth,
               channel = filter / sizes.group_filters() * depth + w / taps % depth,
               sample = t / places;
    const auto at = sizes.way.element(Sliding::point(sizes.way.places, t % places),
                                      Sliding::point(sizes.way.kernel, w % taps));
    if (at < 0) return 0;
    return data[(sample * sizes.channels + channel) * sizes.elements() + at] *
           dy[(sample * sizes.filters + filter) * places + t % places];
  }
};

struct BiasTerm {
  Sizes sizes;
  const float* dy;

  TENON_DEVICE double operator()(std::int64_t filter, std::int64_t t) const {
    const auto places = sizes.places();
    return dy[(t / places * sizes.filters + filter) * places + t % places];
  }
};

}  // namespace convolution

// Convolutions for tests: their sizes, and their definition as loops.
#pragma once
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "plugins/check.hpp"
#include "sliding_window.hpp"

struct ConvolutionRow {
  tenon::Shape data;
  std::int64_t filters;
  Integers kernel, stride = {}, pad = {}, dilate = {};
  std::int64_t groups = 1;
  bool bias = true;
};

inline Sliding sliding(const ConvolutionRow& row) {
  const auto axes = row.kernel.size();
  return {row.kernel, for_each_axis(row.stride, Integers(axes, 1)),
          for_each_axis(row.pad, Integers(axes, 0)), for_each_axis(row.dilate, Integers(axes, 1))};
}

inline DoubleArray convolve(const DoubleArray& data, const DoubleArray& weight,
                            const DoubleArray& bias, const ConvolutionRow& row) {
  const auto window = sliding(row);
  auto output = zeros(window.output(data.shape, row.filters));
  std::vector<std::array<std::int64_t, 3>>
      products;  // for one channel: indices in output, weight and data
  window.for_each(data.shape, [&](std::int64_t place, std::int64_t element, std::int64_t at) {
    if (at >= 0) products.push_back({place, element, at});
  });
  const auto channels = data.dim(1) / row.groups, filters = row.filters / row.groups;
  const auto in = channel_size(data.shape), out = channel_size(output.shape),
             elements = channel_size(weight.shape);
  for (std::int64_t sample = 0; sample < data.dim(0); ++sample)
    for (std::int64_t filter = 0; filter < row.filters; ++filter) {
      auto* y = output.values.data() + (sample * row.filters + filter) * out;
      if (row.bias) std::fill_n(y, out, bias[filter]);
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        const auto* x = data.values.data() +
                        (sample * data.dim(1) + filter / filters * channels + channel) * in;
        const auto* w = weight.values.data() + (filter * channels + channel) * elements;
        for (const auto& [place, element, at] : products) y[place] += w[element] * x[at];
      }
    }
  return output;
}

inline tenon::Shape weight_shape(const ConvolutionRow& row) {
  auto shape = tenon::Shape::of_rank(static_cast<int>(row.kernel.size()) + 2);
  shape.set(0, row.filters);
  shape.set(1, row.data.rank() > 1 ? row.data[1] / row.groups : 1);
  for (std::size_t i = 0; i < row.kernel.size(); ++i)
    shape.set(static_cast<int>(i) + 2, row.kernel[i]);
  return shape;
}

inline tenon::Attributes attributes(const ConvolutionRow& row) {
  return {
      {"num_filter", row.filters}, {"kernel", row.kernel}, {"stride", row.stride}, {"pad", row.pad},
      {"dilate", row.dilate},      {"groups", row.groups}, {"no_bias", !row.bias}};
}

inline Case convolution(const ConvolutionRow& row, tenon::DType dtype = tenon::f32) {
  Case test{tenon::to_string(row.data), "nn", "convolution", attributes(row), {}, {}, {0, 1}, 2e-5};
  if (dtype == tenon::f64) test.tolerance = 1e-8;
  test.inputs = {Array(dtype, random_doubles(row.data, 1)),
                 Array(dtype, random_doubles(weight_shape(row), 2)), Array()};
  if (row.bias) {
    test.inputs[2] = Array(dtype, random_doubles({row.filters}, 3));
    test.differentiable.push_back(2);
  }
  test.oracle = [row](const std::vector<DoubleArray>& in) {
    return std::vector{convolve(in[0], in[1], in[2], row)};
  };
  return test;
}

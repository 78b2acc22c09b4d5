// A transposed convolution whose windows neither overlap nor leave gaps, as of 2 x 2 filters and a
// stride of 2: a product of each block of positions with the weights, whose results are then copied
// to their windows. oneDNN computes it as the gradient of a strided convolution, in its own layout.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "../../shared/product/multiply.hpp"
#include "convolution_steps.hpp"

/// For tensors of f32 without groups, with one or two spatial axes.
class SeparateWindows {
 public:
  /// data, output: of the transposed convolution.
  static bool fits(const Window& window, const tenon::Shape& data, const tenon::Shape& output,
                   std::int64_t groups) {
    if (groups != 1 || window.axes > 2 || output.size() == 0 || data.size() == 0 ||
        product::this_vectors() == product::Vectors::scalar)
      return false;
    for (int axis = 0; axis < window.axes; ++axis) {
      const auto i = static_cast<std::size_t>(axis);
      if (window.stride[i] != window.kernel[i] || window.pad[i] != 0 ||
          (window.dilate[i] != 1 && window.kernel[i] != 1) ||
          output[axis + 2] != data[axis + 2] * window.kernel[i])
        return false;
    }
    return true;
  }

  /// last: both tensors are channels-last.
  SeparateWindows(const Window& window, const tenon::Shape& data, const tenon::Shape& output,
                  bool last)
      : samples_(data[0]),
        channels_(data[1]),
        filters_(output[1]),
        width_(data[-1]),
        positions_(data.size() / (data[0] * data[1])),
        down_(window.axes == 2 ? window.kernel[0] : 1),
        across_(window.kernel[window.axes == 2 ? 1 : 0]),
        last_(last) {}

  /// bias: may be null.
  void forward(const tenon::Call& call, const float* data, const float* weight, const float* bias,
               float* output) const {
    last_ ? forward_last(call, data, weight, bias, output)
          : forward_plain(call, data, weight, bias, output);
  }

 private:
  static constexpr std::int64_t block = 32 << 10;  // floats of results at a time

  /// Elements of one position's window in all filters.
  std::int64_t results() const { return filters_ * down_ * across_; }

  /// Calls body(sample, first position, count) for blocks of positions, in parallel.
  template <class Body>
  void for_each_block(const tenon::Call& call, Body&& body) const {
    const auto size = std::clamp(block / results() / product::vector * product::vector,
                                 product::vector, product::max_wide);
    const auto blocks = (positions_ + size - 1) / size;
    const auto work = std::max<std::int64_t>(size * results() * channels_, 1);
    call.parallel_for(samples_ * blocks, 1 + 250'000 / work,
                      [&](std::int64_t begin, std::int64_t end) {
                        for (auto i = begin; i < end; ++i) {
                          const auto first = i % blocks * size;
                          body(i / blocks, first, std::min(size, positions_ - first));
                        }
                      });
  }

  static float* buffer(std::int64_t floats) {
    return reinterpret_cast<float*>(
        onednn::scratch(static_cast<std::size_t>(floats) * sizeof(float)));
  }

  /// One row of results for each filter and element of its window.
  void forward_plain(const tenon::Call& call, const float* data, const float* weight,
                     const float* bias, float* output) const {
    std::vector<float> rows(static_cast<std::size_t>(results() * channels_));
    for (std::int64_t channel = 0; channel < channels_; ++channel)
      for (std::int64_t i = 0; i < results(); ++i)
        rows[static_cast<std::size_t>(i * channels_ + channel)] = weight[channel * results() + i];
    const product::FmaArithmetic arithmetic({results(), positions_, channels_});
    for_each_block(call, [&](std::int64_t sample, std::int64_t first, std::int64_t count) {
      float* const to = buffer(results() * count);
      const gemm::Operand<float> positions{data + sample * channels_ * positions_, positions_,
                                           false};
      for (std::int64_t row = 0; row < results(); row += product::max_tall)
        arithmetic.multiply_tile({rows.data(), channels_, false}, {positions},
                                 {to + row * count, count}, {},
                                 {row, std::min(product::max_tall, results() - row), first, count});
      for (std::int64_t filter = 0; filter < filters_; ++filter)
        put_planes(to + filter * down_ * across_ * count, first, count, bias ? bias[filter] : 0.0F,
                   output + (sample * filters_ + filter) * positions_ * down_ * across_);
    });
  }

  /// Copies the results of one filter, [down, across, count], to its plane of output.
  void put_planes(const float* from, std::int64_t first, std::int64_t count, float bias,
                  float* plane) const {
    for (std::int64_t done = 0; done < count;) {
      const auto y = (first + done) / width_, x = (first + done) % width_;
      const auto run = std::min(width_ - x, count - done);
      for (std::int64_t row = 0; row < down_; ++row) {
        float* const to = plane + ((y * down_ + row) * width_ + x) * across_;
        const float* const results = from + row * across_ * count + done;
        tenon::wide([=, this] {
          if (across_ == 2)
            for (std::int64_t i = 0; i < run; ++i) {
              to[2 * i] = results[i] + bias;
              to[2 * i + 1] = results[count + i] + bias;
            }
          else
            for (std::int64_t column = 0; column < across_; ++column)
              for (std::int64_t i = 0; i < run; ++i)
                to[i * across_ + column] = results[column * count + i] + bias;
        });
      }
      done += run;
    }
  }

  /// One row of results for each position: [down, across, filters].
  void forward_last(const tenon::Call& call, const float* data, const float* weight,
                    const float* bias, float* output) const {
    const auto window = down_ * across_;
    std::vector<float> columns(static_cast<std::size_t>(results() * channels_)),
        start(static_cast<std::size_t>(bias ? results() : 0));
    for (std::int64_t channel = 0; channel < channels_; ++channel)
      for (std::int64_t filter = 0; filter < filters_; ++filter)
        for (std::int64_t i = 0; i < window; ++i)
          columns[static_cast<std::size_t>(channel * results() + i * filters_ + filter)] =
              weight[(channel * filters_ + filter) * window + i];
    for (std::int64_t i = 0; bias && i < results(); ++i)
      start[static_cast<std::size_t>(i)] = bias[i % filters_];
    const product::FmaArithmetic arithmetic({positions_, results(), channels_});
    for_each_block(call, [&](std::int64_t sample, std::int64_t first, std::int64_t count) {
      float* const to = buffer(results() * count);
      arithmetic.multiply_tile({data + sample * positions_ * channels_, channels_, false},
                               {{columns.data(), results(), false}}, {to, results()},
                               {bias ? start.data() : nullptr, 0}, {first, count, 0, results()});
      put_rows(to, first, count, output + sample * positions_ * results());
    });
  }

  void put_rows(const float* from, std::int64_t first, std::int64_t count, float* image) const {
    const auto run = across_ * filters_;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto y = (first + i) / width_, x = (first + i) % width_;
      for (std::int64_t row = 0; row < down_; ++row, from += run)
        std::copy_n(from, run, image + ((y * down_ + row) * width_ + x) * run);
    }
  }

  std::int64_t samples_, channels_, filters_, width_, positions_, down_, across_;
  bool last_;
};

// A convolution along one axis, whose windows are rows of memory: a window of channels-last data,
// or of a single channel, is contiguous, and the next one begins a stride later. So the windows are
// the left side of a product with the weights without being copied, unless they contain padding.
// Padding is multiplied as zeros.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <tenon/wide.hpp>
#include <vector>

#include "../../shared/product/multiply.hpp"
#include "convolution_choice.hpp"
#include "convolution_steps.hpp"

class WindowsConvolution {
 public:
  WindowsConvolution(const Window& window, const ConvolutionShape& shape)
      : samples_(shape.data[0]),
        channels_(shape.data[1]),
        filters_(shape.output[1]),
        output_last_(shape.output_layout == onednn::Layout::channels_last || filters_ == 1) {
    const auto axis = convolution_choice::only_axis(window, shape.data, shape.output);
    const auto i = static_cast<std::size_t>(axis);
    length_ = shape.data[axis + 2];
    positions_ = shape.output[axis + 2];
    taps_ = window.kernel[i];
    row_size_ = window.stride[i] * channels_;
    padding_ = window.pad[i];
    padded_ = std::max((positions_ - 1) * window.stride[i] + taps_, padding_ + length_);
    copies_ = padded_ > length_;
  }

  std::size_t packed_bytes() const {
    const auto floats = adds_rows() ? filters_ * depth() : product::packed_size(depth(), filters_);
    return static_cast<std::size_t>(floats) * sizeof(float);
  }
  std::string packing() const {
    return tenon::join(adds_rows() ? "rows" : product::packing(), " of ", filters_, " x ", depth(),
                       ", by taps");
  }
  void pack(const float* weight, void* to) const {
    auto* const floats = static_cast<float*>(to);
    if (adds_rows()) return put_by_taps(weight, floats);
    std::vector<float> memory;
    product::pack({by_taps(weight, memory), depth(), true}, depth(), filters_, floats);
  }

  /// packed: the weights as pack() leaves them, or null. after(first, count) is called for all
  /// elements of output.
  template <class After>
  void forward(const tenon::Call& call, const float* data, const float* weight, const void* packed,
               const float* bias, float* output, After&& after) const {
    std::vector<float> memory;
    const auto* const ready = static_cast<const float*>(packed);
    const float* const weights = ready ? ready : by_taps(weight, memory);
    const auto group = samples_at_once();
    for (std::int64_t sample = 0; sample < samples_; sample += group) {
      const auto count = std::min(group, samples_ - sample);
      float* const scratch = reinterpret_cast<float*>(
          onednn::scratch(static_cast<std::size_t>(scratch_floats(count)) * sizeof(float)));
      const auto rows = rows_of(call, data + sample * length_ * channels_, count, scratch);
      const auto first = sample * positions_;
      float* const result = output_last_
                                ? output + first * filters_
                                : scratch + scratch_floats(count) - count * positions_ * filters_;
      if (adds_rows()) {
        multiply_rows(call, rows, weights, bias, count * positions_, result);
        if (output_last_) after(first * filters_, count * positions_ * filters_);
      } else {
        const auto finish = [&](const product::Tile& tile) {
          for (auto row = tile.row; output_last_ && row < tile.row + tile.rows; ++row)
            after((first + row) * filters_ + tile.column, tile.columns);
        };
        product::multiply<product::FmaArithmetic>(call, rows, {{weights, depth(), true}, ready},
                                                  result, {count * positions_, filters_, depth()},
                                                  {bias, 0}, false, finish);
      }
      if (!output_last_) put_plain(call, result, sample, count, output, after);
    }
  }

 private:
  using Rows = gemm::Operand<float>;
  typedef float Floats __attribute__((vector_size(64), aligned(4)));
  static constexpr std::int64_t lanes = 16, rows_at_once = 4;

  std::int64_t depth() const { return taps_ * channels_; }
  /// Whether each element is a sum along its window: a product's vectors would be mostly empty.
  bool adds_rows() const { return filters_ < convolution_choice::max_summed_filters; }
  /// Whether windows are copied, so that one product computes several samples.
  bool gathers() const { return samples_ > 1 && positions_ < 64; }
  std::int64_t samples_at_once() const {
    return gathers() ? std::min(samples_, std::max<std::int64_t>(1, 1024 / positions_)) : 1;
  }
  std::int64_t scratch_floats(std::int64_t samples) const {
    return (copies_ ? samples * padded_ * channels_ : 0) +
           (gathers() ? samples * positions_ * depth() : 0) +
           (output_last_ ? 0 : samples * positions_ * filters_);
  }

  /// The weights with the channels of each tap contiguous, as in windows.
  const float* by_taps(const float* weight, std::vector<float>& memory) const {
    if (channels_ == 1 || taps_ == 1) return weight;
    memory.resize(static_cast<std::size_t>(filters_ * depth()));
    put_by_taps(weight, memory.data());
    return memory.data();
  }
  void put_by_taps(const float* weight, float* to) const {
    for (std::int64_t filter = 0; filter < filters_; ++filter, weight += depth(), to += depth())
      for (std::int64_t channel = 0; channel < channels_; ++channel)
        for (std::int64_t tap = 0; tap < taps_; ++tap)
          to[tap * channels_ + channel] = weight[channel * taps_ + tap];
  }

  /// The windows of `count` samples; `scratch` begins with memory for copies.
  Rows rows_of(const tenon::Call& call, const float* data, std::int64_t count,
               float* scratch) const {
    auto size = length_ * channels_;
    if (copies_) {
      size = padded_ * channels_;
      for (std::int64_t sample = 0; sample < count; ++sample) {
        float* const to = scratch + sample * size;
        const auto before = padding_ * channels_, inside = length_ * channels_;
        std::fill_n(to, before, 0.0F);
        std::copy_n(data + sample * inside, inside, to + before);
        std::fill_n(to + before + inside, size - before - inside, 0.0F);
      }
      data = scratch;
      scratch += count * size;
    }
    if (!gathers()) return {data, row_size_, false};
    call.parallel_for(count * positions_, 1 + 16384 / depth(),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (auto row = begin; row < end; ++row)
                          std::copy_n(data + row / positions_ * size + row % positions_ * row_size_,
                                      depth(), scratch + row * depth());
                      });
    return {scratch, depth(), false};
  }

  void multiply_rows(const tenon::Call& call, const Rows& rows, const float* weights,
                     const float* bias, std::int64_t count, float* result) const {
    call.parallel_for(count, 1 + 65536 / (depth() * filters_),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (std::int64_t filter = 0; filter < filters_; ++filter)
                          tenon::wide([=, this] {
                            sum_rows(rows, begin, end, weights + filter * depth(),
                                     bias ? bias[filter] : 0.0F, result + filter);
                          });
                      });
  }

  [[gnu::always_inline]] void sum_rows(const Rows& rows, std::int64_t begin, std::int64_t end,
                                       const float* weights, float bias, float* result) const {
    auto row = begin;
    for (; row + rows_at_once <= end; row += rows_at_once)
      sum<rows_at_once>(rows.data + row * rows.row_size, rows.row_size, weights, bias,
                        result + row * filters_);
    for (; row < end; ++row)
      sum<1>(rows.data + row * rows.row_size, rows.row_size, weights, bias,
             result + row * filters_);
  }

  /// The order of the sum is the same for any number of rows.
  template <int count>
  [[gnu::always_inline]] void sum(const float* data, std::int64_t row_size, const float* weights,
                                  float bias, float* result) const {
    Floats sums[count] = {};
    const auto whole = depth() / lanes * lanes;
    for (std::int64_t i = 0; i < whole; i += lanes) {
      Floats factor;
      std::memcpy(&factor, weights + i, sizeof factor);
      for (int row = 0; row < count; ++row) {
        Floats window;
        std::memcpy(&window, data + row * row_size + i, sizeof window);
        sums[row] += window * factor;
      }
    }
    for (int row = 0; row < count; ++row) {
      float total = bias;
      for (auto i = whole; i < depth(); ++i) total += data[row * row_size + i] * weights[i];
      auto half = sums[row] + __builtin_shufflevector(sums[row], sums[row], 8, 9, 10, 11, 12, 13,
                                                      14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
      half +=
          __builtin_shufflevector(half, half, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
      result[row * filters_] = total + ((half[0] + half[2]) + (half[1] + half[3]));
    }
  }

  template <class After>
  void put_plain(const tenon::Call& call, const float* result, std::int64_t sample,
                 std::int64_t count, float* output, After&& after) const {
    call.parallel_for(
        count * filters_, 1 + 8192 / positions_, [&](std::int64_t begin, std::int64_t end) {
          for (auto i = begin; i < end; ++i) {
            const float* const from = result + i / filters_ * positions_ * filters_ + i % filters_;
            const auto first = (sample * filters_ + i) * positions_;
            for (std::int64_t position = 0; position < positions_; ++position)
              output[first + position] = from[position * filters_];
            after(first, positions_);
          }
        });
  }

  std::int64_t samples_, channels_, filters_;
  std::int64_t length_ = 0, positions_ = 0, taps_ = 0, row_size_ = 0, padding_ = 0;
  std::int64_t padded_ = 0;  ///< positions of data with the padding that windows read
  bool output_last_, copies_ = false;
};

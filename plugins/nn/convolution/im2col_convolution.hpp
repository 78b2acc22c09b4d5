// Convolution by im2col: the product of a matrix with one row of window elements for each output
// position and the weights in their original layout. Padding is multiplied as zeros, so that
// infinite weights give NaN there. Used for large weights and few positions, where oneDNN reads the
// weights too often and reorders them whenever they change.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "../../shared/product/multiply_bf16.hpp"
#include "convolution_choice.hpp"
#include "convolution_steps.hpp"

class Im2colConvolution {
 public:
  Im2colConvolution(const Window& window, const ConvolutionShape& shape)
      : samples_(shape.data[0]),
        filters_(shape.output[1]),
        channels_(shape.data[1]),
        rounded_(shape.rounded == onednn::Type::bf16),
        data_last_(shape.data_layout == onednn::Layout::channels_last),
        output_last_(shape.output_layout == onednn::Layout::channels_last) {
    for (int axis = 0; axis < window.axes; ++axis) {
      const auto i = static_cast<std::size_t>(axis);
      data_positions_ *= shape.data[axis + 2];
      positions_ *= shape.output[axis + 2];
      taps_ *= window.kernel[i];
    }
    depth_ = channels_ * taps_;
    from_.reserve(static_cast<std::size_t>(positions_ * taps_));
    for (std::int64_t position = 0; position < positions_; ++position)
      for (std::int64_t tap = 0; tap < taps_; ++tap)
        from_.push_back(data_offset(window, shape, position, tap));
  }

  std::size_t packed_bytes() const {
    return in_arithmetic(forward_size(), [&]<class Arithmetic>(const Arithmetic& arithmetic) {
      return static_cast<std::size_t>(arithmetic.packed_size()) *
             sizeof(typename Arithmetic::Packed);
    });
  }
  std::string packing() const {
    return in_arithmetic(forward_size(), [&](const auto& arithmetic) {
      return tenon::join(arithmetic.packing(), " of ", filters_, " x ", depth_, ", transposed");
    });
  }
  void pack(const float* weight, void* to) const {
    in_arithmetic(forward_size(), [&]<class Arithmetic>(const Arithmetic& arithmetic) {
      arithmetic.pack({weight, depth_, true}, static_cast<typename Arithmetic::Packed*>(to));
    });
  }

  /// packed: the weights as pack() leaves them, or null. after(first, count) is called for all
  /// elements of output.
  template <class After>
  void forward(const tenon::Call& call, const float* data, const float* weight, const void* packed,
               const float* bias, float* output, After&& after) const {
    float* const windows = scratch(rows() * (depth_ + (output_last_ ? 0 : filters_)));
    float* const result = output_last_ ? output : windows + rows() * depth_;
    read_windows(call, data, windows);
    if (algorithm(rows(), true, packed != nullptr) == Im2colAlgorithm::weights_on_the_left)
      return forward_by_filters(call, windows, weight, bias, result, output, after);
    const auto finish = [&](const product::Tile& tile) {
      for (auto row = tile.row; output_last_ && row < tile.row + tile.rows; ++row)
        after(row * filters_ + tile.column, tile.columns);
    };
    multiply(call, {windows, depth_, false}, {weight, depth_, true}, packed, result, forward_size(),
             {bias, 0}, finish);
    if (output_last_) return;
    for_each_channel(call, filters_, [&](std::int64_t sample, std::int64_t filter) {
      const auto first = (sample * filters_ + filter) * positions_;
      for (std::int64_t position = 0; position < positions_; ++position)
        output[first + position] = result[(sample * positions_ + position) * filters_ + filter];
      after(first, positions_);
    });
  }

  /// Gradients are plain tensors, and then data and output are plain, too.
  void backward_data(const tenon::Call& call, const float* output_grad, const float* weight,
                     float* data_grad) const {
    float* const windows = scratch(rows() * (depth_ + filters_));
    const float* const grads = rows_of(call, output_grad, windows + rows() * depth_);
    multiply(call, {grads, filters_, false}, {weight, depth_, false}, nullptr, windows,
             {rows(), depth_, filters_});
    for_each_channel(call, channels_, [&](std::int64_t sample, std::int64_t channel) {
      float* const to = data_grad + (sample * channels_ + channel) * data_positions_;
      std::fill_n(to, data_positions_, 0.f);
      const float* from = windows + sample * positions_ * depth_ + channel * taps_;
      for (std::int64_t position = 0; position < positions_; ++position, from += depth_)
        for (std::int64_t tap = 0; tap < taps_; ++tap)
          if (const auto at = from_[static_cast<std::size_t>(position * taps_ + tap)]; at >= 0)
            to[at] += from[tap];
    });
  }

  /// Null pointers: not requested.
  void backward_weights(const tenon::Call& call, const float* data, const float* output_grad,
                        float* weight_grad, float* bias_grad) const {
    float* const windows = scratch(rows() * (depth_ + filters_));
    const float* const grads = rows_of(call, output_grad, windows + rows() * depth_);
    if (bias_grad) {
      std::fill_n(bias_grad, filters_, 0.f);
      for (std::int64_t row = 0; row < rows(); ++row)
        for (std::int64_t filter = 0; filter < filters_; ++filter)
          bias_grad[filter] += grads[row * filters_ + filter];
    }
    if (!weight_grad) return;
    read_windows(call, data, windows);
    multiply(call, {grads, filters_, true}, {windows, depth_, false}, nullptr, weight_grad,
             {filters_, depth_, rows()});
  }

 private:
  /// One row of the product for each filter, so that the weights are read once, in their original
  /// layout. The sums are the same.
  template <class After>
  void forward_by_filters(const tenon::Call& call, const float* windows, const float* weight,
                          const float* bias, float* sums, float* output, After&& after) const {
    for (std::int64_t filter = 0; bias && filter < filters_; ++filter)
      std::fill_n(sums + filter * rows(), rows(), bias[filter]);
    product::multiply<product::FmaArithmetic>(
        call, {weight, depth_, false}, {{windows, depth_, true}}, sums, {filters_, rows(), depth_},
        {bias ? sums : nullptr, rows()});
    for_each_channel(call, filters_, [&](std::int64_t sample, std::int64_t filter) {
      const auto first = (sample * filters_ + filter) * positions_;
      std::copy_n(sums + filter * rows() + sample * positions_, positions_, output + first);
      after(first, positions_);
    });
  }

  Im2colAlgorithm algorithm(std::int64_t rows, bool forward = false, bool packed = true) const {
    return choice::first_of<convolution_choice::im2col>(
               Im2colProblem{rows, rounded_, forward, packed, output_last_})
        .algorithm;
  }

  /// Calls body() with the arithmetic for products of a size.
  template <class Body>
  auto in_arithmetic(const product::Size& size, Body&& body) const
      -> decltype(body(product::F32Arithmetic(size))) {
    switch (algorithm(size.rows)) {
#if defined(TENON_WIDE_LEVELS)
      case Im2colAlgorithm::bf16:
        return body(product::bf16::Bf16Arithmetic(size));
#endif
      case Im2colAlgorithm::f32:
        return body(product::F32Arithmetic(size));
      default:
        return body(product::FmaArithmetic(size));
    }
  }
  product::Size forward_size() const {
    return {rows(), filters_, depth_};
  }

  template <class Finish = product::Nothing>
  void multiply(const tenon::Call& call, const gemm::Operand<float>& left,
                const gemm::Operand<float>& right, const void* packed, float* result,
                const product::Size& size, product::Start start = {},
                const Finish& finish = {}) const {
    in_arithmetic(size, [&]<class Arithmetic>(const Arithmetic&) {
      product::multiply<Arithmetic>(
          call, left, {right, static_cast<const typename Arithmetic::Packed*>(packed)}, result,
          size, start, false, finish);
    });
  }

  std::int64_t rows() const {
    return samples_ * positions_;
  }

  static float* scratch(std::int64_t floats) {
    return reinterpret_cast<float*>(
        onednn::scratch(static_cast<std::size_t>(floats) * sizeof(float)));
  }

  /// Index of the element of a channel under a tap of the window at a position; -1: padding.
  static std::int64_t data_offset(const Window& window, const ConvolutionShape& shape,
                                  std::int64_t position, std::int64_t tap) {
    std::int64_t found = 0, step = 1;
    for (int axis = window.axes; axis-- > 0;) {
      const auto i = static_cast<std::size_t>(axis);
      const auto at = position % shape.output[axis + 2] * window.stride[i] +
                      tap % window.kernel[i] * window.dilate[i] - window.pad[i];
      if (at < 0 || at >= shape.data[axis + 2]) return -1;
      found += at * step;
      step *= shape.data[axis + 2];
      position /= shape.output[axis + 2];
      tap /= window.kernel[i];
    }
    return found;
  }

  template <class Body>
  static void for_each_item(const tenon::Call& call, std::int64_t count, std::int64_t elements,
                            Body&& body) {
    call.parallel_for(count, 1 + 8192 / elements, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = begin; i < end; ++i) body(i);
    });
  }
  template <class Body>
  void for_each_channel(const tenon::Call& call, std::int64_t channels, Body&& body) const {
    for_each_item(call, samples_ * channels, positions_ * taps_,
                  [&](std::int64_t i) { body(i / channels, i % channels); });
  }

  void read_windows(const tenon::Call& call, const float* data, float* windows) const {
    const auto step = data_last_ ? channels_ : 1, next = data_last_ ? 1 : data_positions_;
    for_each_item(call, rows(), depth_, [&](std::int64_t row) {
      const std::int64_t* const offsets = from_.data() + row % positions_ * taps_;
      const float* from = data + row / positions_ * channels_ * data_positions_;
      float* to = windows + row * depth_;
      for (std::int64_t channel = 0; channel < channels_; ++channel, from += next, to += taps_)
        for (std::int64_t tap = 0; tap < taps_; ++tap)
          to[tap] = offsets[tap] < 0 ? 0 : from[offsets[tap] * step];
    });
  }

  /// Copies an output gradient to `to`, with the filters of each position contiguous.
  const float* rows_of(const tenon::Call& call, const float* output_grad, float* to) const {
    for_each_item(call, rows(), filters_, [&](std::int64_t row) {
      const float* const from =
          output_grad + row / positions_ * filters_ * positions_ + row % positions_;
      for (std::int64_t filter = 0; filter < filters_; ++filter)
        to[row * filters_ + filter] = from[filter * positions_];
    });
    return to;
  }

  std::int64_t samples_, filters_, channels_, data_positions_ = 1, positions_ = 1, taps_ = 1,
                                              depth_ = 0;
  [[maybe_unused]] bool rounded_;  // to bfloat16; only if loops are compiled for wide vectors
  bool data_last_, output_last_;
  std::vector<std::int64_t> from_;  // data_offset() of each position and tap
};

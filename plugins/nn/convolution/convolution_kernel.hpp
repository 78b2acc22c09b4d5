// The three passes of a convolution of given shapes, each made when it is first needed and then kept.
#pragma once
#include <optional>

#include "convolution_steps.hpp"
#include "onednn/chunks.hpp"
#include "onednn/parts.hpp"

class ConvolutionKernel {
 public:
  ConvolutionKernel(const Window& window, const tenon::Shape& data, const tenon::Shape& output, std::int64_t groups, bool bias)
      : steps_(window, data, output, groups, bias),
        batch_(data[0]),
        sample_(size_of_sample(data)),
        output_sample_(size_of_sample(output)),
        filters_(output[1]),
        ports_with_bias_(bias ? 4 : 3) {}

  /// bias: null where there is none.
  void forward(const tenon::Call& call, const float* data, const float* weight, const float* bias, float* output) {
    if (batch_ == 0) return;
    if (!forward_) forward_.emplace(make(most_chunks, DNNL_ARG_WEIGHTS, &ConvolutionSteps::forward));
    const float* const laid_out = lay_out(*forward_, weight);
    forward_->chunks.for_each(call, [&](std::int64_t chunk, std::int64_t first) {
      const void* const ports[] = {data + first * sample_, laid_out, output + first * output_sample_, bias};
      forward_->chunks.step(chunk).run({ports, ports_with_bias_});
    });
  }

  void backward_data(const tenon::Call& call, const float* output_grad, const float* weight, float* data_grad) {
    if (batch_ == 0) return;
    if (!backward_data_) backward_data_.emplace(make(most_chunks, DNNL_ARG_WEIGHTS, &ConvolutionSteps::backward_data));
    const float* const laid_out = lay_out(*backward_data_, weight);
    backward_data_->chunks.for_each(call, [&](std::int64_t chunk, std::int64_t first) {
      const void* const ports[] = {output_grad + first * output_sample_, laid_out, data_grad + first * sample_};
      backward_data_->chunks.step(chunk).run(ports);
    });
  }

  /// Every chunk makes the gradients of its own samples; they are added in the order of the chunks. Null: not wanted.
  void backward_weights(const tenon::Call& call, const float* data, const float* output_grad, float* weight_grad, float* bias_grad) {
    if (batch_ == 0) {
      if (weight_grad) std::fill_n(weight_grad, weight_bytes() / sizeof(float), 0.f);
      if (bias_grad) std::fill_n(bias_grad, filters_, 0.f);
      return;
    }
    if (!backward_weights_) {
      const auto fitting = most_gradient_bytes / weight_bytes();
      backward_weights_.emplace(make(std::clamp<std::int64_t>(static_cast<std::int64_t>(fitting), 1, most_chunks), DNNL_ARG_DIFF_WEIGHTS,
                                     &ConvolutionSteps::backward_weights));
    }
    const auto& chunks = backward_weights_->chunks;
    const onednn::Parts weights(chunks.count(), chunks.step(0).layout(DNNL_ARG_DIFF_WEIGHTS).get_size());
    const onednn::Parts biases(chunks.count(), static_cast<std::size_t>(filters_) * sizeof(float));
    chunks.for_each(call, [&](std::int64_t chunk, std::int64_t first) {
      const void* const ports[] = {data + first * sample_, output_grad + first * output_sample_, weights[chunk], biases[chunk]};
      chunks.step(chunk).run({ports, ports_with_bias_});
    });
    if (weight_grad) backward_weights_->from_layout.copy(weights.add_up(call), weight_grad);
    if (bias_grad) std::copy_n(biases.add_up(call), filters_, bias_grad);
  }

 private:
  static constexpr std::int64_t most_chunks = 16;               // more threads than that find nothing to do
  static constexpr std::size_t most_gradient_bytes = 64 << 20;  // for the weight gradients of all chunks together

  /// The layout of the weights is the same for all chunks, so it is changed once a call.
  struct Pass {
    onednn::Chunks chunks;
    onednn::Reorder to_layout, from_layout;
    onednn::Buffer laid_out;
  };

  Pass make(std::int64_t chunks, int weights, onednn::Step (ConvolutionSteps::*step)(std::int64_t, const onednn::Step*) const) const {
    return onednn::use([&] {
      Pass pass{
          onednn::Chunks(batch_, chunks, [&](std::int64_t samples, const onednn::Step* like) { return (steps_.*step)(samples, like); }),
          {},
          {},
          {}};
      const auto& layout = pass.chunks.step(0).layout(weights);
      pass.to_layout = onednn::Reorder(steps_.weights(), layout);
      pass.from_layout = onednn::Reorder(layout, steps_.weights());
      pass.laid_out = onednn::Buffer(pass.to_layout.needed() ? layout.get_size() : 0);
      return pass;
    });
  }

  static const float* lay_out(const Pass& pass, const float* weight) {
    if (!pass.to_layout.needed()) return weight;
    const auto laid_out = reinterpret_cast<float*>(pass.laid_out.data());
    pass.to_layout.copy(weight, laid_out);
    return laid_out;
  }

  static std::int64_t size_of_sample(const tenon::Shape& shape) {
    std::int64_t size = 1;
    for (int axis = 1; axis < shape.rank(); ++axis) size *= shape[axis];
    return size;
  }

  std::size_t weight_bytes() const { return steps_.weights().get_size(); }

  ConvolutionSteps steps_;
  std::int64_t batch_, sample_, output_sample_, filters_;
  std::size_t ports_with_bias_;
  std::optional<Pass> forward_, backward_data_, backward_weights_;
};

// Gradients of a convolution's weight and bias.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "convolution_steps.hpp"
#include "onednn/parts.hpp"

/// Number of multiplications and additions of one pass.
inline double operations(const ConvolutionShape& shape, std::size_t weight_bytes) {
  double places = static_cast<double>(shape.output[0]);
  for (int axis = 2; axis < shape.output.rank(); ++axis)
    places *= static_cast<double>(shape.output[axis]);
  return 2 * places * static_cast<double>(weight_bytes / sizeof(float));
}

/// With small weights, each chunk computes the gradients of its own samples, and these are added in
/// the order of the chunks. With large weights, each chunk computes the gradients of its own
/// filters from all samples. convolution_choice.hpp chooses.
class ConvolutionGradient {
 public:
  /// cut_filters: split by filters instead of samples.
  ConvolutionGradient(const ConvolutionPrimitives& steps, const WindowPartition& parts,
                      const ConvolutionShape& shape, bool cut_filters)
      : steps_(&steps), filters_(shape.output[1]), bias_(shape.bias), cut_filters_(cut_filters) {
    const auto bytes = steps.weights().get_size();
    if (shape.data[0] == 0) return;
    const auto most = WindowPartition::worthwhile(operations(shape, bytes), 0);
    onednn::use([&] {
      if (cut_filters_) {
        const auto size = std::max((filters_ + most - 1) / most, min_filters);
        parts_ = parts.of_filters((size + min_filters - 1) / min_filters * min_filters);
      } else {
        const auto fitting =
            static_cast<std::int64_t>(std::clamp<std::size_t>(max_gradient_bytes / bytes, 1, 16));
        parts_ = parts.of_samples(std::min(most, fitting));
      }
      add_step(parts_.front());
      if (!parts_.back().like(parts_.front())) add_step(parts_.back());
      if (!cut_filters_)
        from_layout_ =
            onednn::Reorder(steps_of_parts_.front().layout(DNNL_ARG_DIFF_WEIGHTS), steps.weights());
    });
  }

  std::size_t bytes() const { return steps_of_parts_.size() * onednn::Step::bytes; }

  /// Null pointers: not requested.
  void run(const tenon::Call& call, const float* data, const float* output_grad, float* weight_grad,
           float* bias_grad) const {
    if (parts_.empty()) {
      if (weight_grad) std::fill_n(weight_grad, steps_->weights().get_size() / sizeof(float), 0.f);
      if (bias_grad) std::fill_n(bias_grad, filters_, 0.f);
    } else if (cut_filters_) {
      run_filters(call, data, output_grad, weight_grad, bias_grad);
    } else {
      run_samples(call, data, output_grad, weight_grad, bias_grad);
    }
  }

 private:
  static constexpr auto min_filters = convolution_choice::min_gradient_filters;
  static constexpr std::size_t max_gradient_bytes =
      64 << 20;  // limit for the weight gradients of all chunks together

  /// All chunks of a split batch compute their gradients in the same layout, so that these can be
  /// added.
  void add_step(const WindowChunk& part) {
    const bool first = steps_of_parts_.empty();
    const auto weights = cut_filters_ || first
                             ? onednn::any(steps_->weights_of(part.filters))
                             : steps_of_parts_.front().layout(DNNL_ARG_DIFF_WEIGHTS);
    steps_of_parts_.push_back(steps_->backward_weights(part, weights, cut_filters_));
  }

  const onednn::Step& step_of(const WindowChunk& part) const {
    return part.like(parts_.front()) ? steps_of_parts_.front() : steps_of_parts_.back();
  }

  void run_filters(const tenon::Call& call, const float* data, const float* output_grad,
                   float* weight_grad, float* bias_grad) const {
    const auto filter =
        static_cast<std::int64_t>(steps_->weights().get_size() / sizeof(float)) / filters_;
    const onednn::Buffer unwanted(weight_grad ? 0 : steps_->weights().get_size()),
        biases(static_cast<std::size_t>(filters_) * sizeof(float));
    float* const weights = weight_grad ? weight_grad : reinterpret_cast<float*>(unwanted.data());
    float* const bias = bias_grad ? bias_grad : reinterpret_cast<float*>(biases.data());
    call.parallel_for(
        static_cast<std::int64_t>(parts_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
          onednn::use([&] {
            for (auto i = begin; i < end; ++i) {
              const auto& part = parts_[static_cast<std::size_t>(i)];
              const void* const ports[] = {data, output_grad + steps_->output_offset(part),
                                           weights + part.filter * filter, bias + part.filter};
              step_of(part).run({ports, bias_ ? 4u : 3u});
            }
          });
        });
  }

  void run_samples(const tenon::Call& call, const float* data, const float* output_grad,
                   float* weight_grad, float* bias_grad) const {
    const auto count = static_cast<std::int64_t>(parts_.size());
    const onednn::Parts weights(count,
                                steps_of_parts_.front().layout(DNNL_ARG_DIFF_WEIGHTS).get_size());
    const onednn::Parts biases(count, static_cast<std::size_t>(filters_) * sizeof(float));
    call.parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
      onednn::use([&] {
        for (auto i = begin; i < end; ++i) {
          const auto& part = parts_[static_cast<std::size_t>(i)];
          const void* const ports[] = {data + steps_->data_offset(part),
                                       output_grad + steps_->output_offset(part), weights[i],
                                       biases[i]};
          step_of(part).run({ports, bias_ ? 4u : 3u});
        }
      });
    });
    if (weight_grad) from_layout_.copy(weights.add_up(call), weight_grad);
    if (bias_grad) std::copy_n(biases.add_up(call), filters_, bias_grad);
  }

  const ConvolutionPrimitives* steps_;
  std::int64_t filters_;
  bool bias_, cut_filters_;
  std::vector<WindowChunk> parts_;
  std::vector<onednn::Step> steps_of_parts_;  // one primitive for chunks of equal size, and another
                                              // for a smaller last one
  onednn::Reorder from_layout_;
};

// Gradients of a convolution's weight and bias.
#pragma once
#include <algorithm>
#include <optional>
#include <vector>

#include "convolution_steps.hpp"
#include "onednn/chunk_arrays.hpp"

/// Number of multiplications and additions of one pass.
inline double operations(const ConvolutionShape& shape, std::size_t weight_bytes) {
  double positions = static_cast<double>(shape.output[0]);
  for (int axis = 2; axis < shape.output.rank(); ++axis)
    positions *= static_cast<double>(shape.output[axis]);
  return 2 * positions * static_cast<double>(weight_bytes / sizeof(float));
}

/// With small weights, each chunk computes the gradients of its own samples, and these are added in
/// the order of the chunks. With large weights, each chunk computes the gradients of its own
/// filters from all samples. convolution_choice.hpp chooses.
class ConvolutionGradient {
 public:
  /// cut_filters: split by filters instead of samples.
  ConvolutionGradient(const ConvolutionPrimitives& steps, const WindowPartition& partition,
                      const ConvolutionShape& shape, bool cut_filters)
      : steps_(&steps), filters_(shape.output[1]), bias_(shape.bias), cut_filters_(cut_filters) {
    const auto bytes = steps.weights().get_size();
    if (shape.data[0] == 0) return;
    const auto max_chunks = WindowPartition::worthwhile(operations(shape, bytes), 0);
    onednn::use([&] {
      if (cut_filters_) {
        const auto size = std::max((filters_ + max_chunks - 1) / max_chunks, min_filters);
        chunks_ = partition.of_filters((size + min_filters - 1) / min_filters * min_filters);
      } else {
        const auto fitting =
            static_cast<std::int64_t>(std::clamp<std::size_t>(max_gradient_bytes / bytes, 1, 16));
        chunks_ = partition.of_samples(std::min(max_chunks, fitting));
      }
      add_step(chunks_.front());
      if (!chunks_.back().like(chunks_.front())) add_step(chunks_.back());
      if (!cut_filters_)
        from_layout_ =
            onednn::Reorder(chunk_steps_.front().layout(DNNL_ARG_DIFF_WEIGHTS), steps.weights());
    });
  }

  std::size_t bytes() const { return chunk_steps_.size() * onednn::Step::bytes; }

  /// Null pointers: not requested.
  void run(const tenon::Call& call, const float* data, const float* output_grad, float* weight_grad,
           float* bias_grad) const {
    if (chunks_.empty()) {
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
  void add_step(const WindowChunk& chunk) {
    const bool first = chunk_steps_.empty();
    const auto weights = cut_filters_ || first ? onednn::any(steps_->weights_of(chunk.filters))
                                               : chunk_steps_.front().layout(DNNL_ARG_DIFF_WEIGHTS);
    chunk_steps_.push_back(steps_->backward_weights(chunk, weights, cut_filters_));
  }

  const onednn::Step& step_of(const WindowChunk& chunk) const {
    return chunk.like(chunks_.front()) ? chunk_steps_.front() : chunk_steps_.back();
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
        static_cast<std::int64_t>(chunks_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
          onednn::use([&] {
            for (auto i = begin; i < end; ++i) {
              const auto& chunk = chunks_[static_cast<std::size_t>(i)];
              const void* const ports[] = {data, output_grad + steps_->output_offset(chunk),
                                           weights + chunk.filter * filter, bias + chunk.filter};
              step_of(chunk).run({ports, bias_ ? 4u : 3u});
            }
          });
        });
  }

  void run_samples(const tenon::Call& call, const float* data, const float* output_grad,
                   float* weight_grad, float* bias_grad) const {
    const auto count = static_cast<std::int64_t>(chunks_.size());
    const onednn::ChunkArrays weights(
        count, chunk_steps_.front().layout(DNNL_ARG_DIFF_WEIGHTS).get_size());
    const onednn::ChunkArrays biases(count, static_cast<std::size_t>(filters_) * sizeof(float));
    call.parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
      onednn::use([&] {
        for (auto i = begin; i < end; ++i) {
          const auto& chunk = chunks_[static_cast<std::size_t>(i)];
          const void* const ports[] = {data + steps_->data_offset(chunk),
                                       output_grad + steps_->output_offset(chunk), weights[i],
                                       biases[i]};
          step_of(chunk).run({ports, bias_ ? 4u : 3u});
        }
      });
    });
    if (weight_grad) from_layout_.copy(weights.add_up(call), weight_grad);
    if (bias_grad) std::copy_n(biases.add_up(call), filters_, bias_grad);
  }

  const ConvolutionPrimitives* steps_;
  std::int64_t filters_;
  bool bias_, cut_filters_;
  std::vector<WindowChunk> chunks_;
  std::vector<onednn::Step> chunk_steps_;  // one primitive for chunks of equal size, and another
                                           // for a smaller last one
  onednn::Reorder from_layout_;
};

// The three passes of a convolution of given shapes, each made when it is first needed and then kept.
#pragma once
#include <optional>

#include "amx_convolution.hpp"
#include "convolution_gradient.hpp"
#include "convolution_pass.hpp"
#include "convolution_steps.hpp"
#include "few_places.hpp"
#include "winograd.hpp"

class ConvolutionKernel {
 public:
  ConvolutionKernel(const Window& window, const ConvolutionShape& shape, std::int64_t groups)
      : steps_(window, shape, groups), parts_(window, shape.data, shape.output), shape_(shape), groups_(groups) {
    if (shares_large_weights() && FewPlaces::suits(shape)) few_places_.emplace(window, shape);
    if (groups == 1 && AmxConvolution::suits(window, shape)) amx_.emplace(window, shape);
    if (groups == 1 && Winograd::suits(window, shape)) winograd_.emplace(window, shape);
  }

  /// What its passes hold.
  std::size_t bytes() const {
    const auto of = [](const auto& pass) { return pass ? pass->bytes() : 0; };
    return of(forward_) + of(backward_data_) + of(gradient_);
  }

  /// What computes forward instead of forward_pass(), where that is faster.
  const FewPlaces* forward_of_few_places() const { return few_places_ && few_places_->suits_forward() ? &*few_places_ : nullptr; }

  const AmxConvolution* by_amx() const { return amx_ ? &*amx_ : nullptr; }
  const Winograd* winograd() const { return winograd_ ? &*winograd_ : nullptr; }

  /// The forward pass; null where there is nothing to do.
  ConvolutionPass* forward_pass() {
    if (shape_.data[0] == 0) return nullptr;
    if (!forward_)
      forward_.emplace(cut_forward(), shape_.output[1], steps_.any_weights_of(cut_forward().front().filters),
                       [&](const WindowPart& part, const onednn::Desc& weights) { return steps_.forward(part, weights); });
    return &*forward_;
  }

  /// bias: null where there is none. kept(i): the weights in the forward pass's layout i, or null. after(first, count) follows each part,
  /// for all of its output elements, in runs.
  template <class Kept, class After>
  void forward(const tenon::Call& call, const float* data, const float* weight, const float* bias, float* output, Kept&& kept,
               After&& after) {
    if (const auto* const few = forward_of_few_places())
      return few->forward(call, data, weight, kept(0), bias, output, std::forward<After>(after));
    if (amx_) return amx_->forward(call, data, weight, kept(0), bias, output, std::forward<After>(after));
    if (winograd_) return winograd_->forward(call, data, weight, kept(0), bias, output, std::forward<After>(after));
    auto* const pass = forward_pass();
    if (!pass) return;
    pass->for_each(call, weight, kept, [&](const WindowPart& part, const ConvolutionStep& step, const void* laid_out) {
      const float* const part_bias = bias ? bias + part.filter : nullptr;
      const void* const ports[] = {data + steps_.data_offset(part), laid_out, output + steps_.output_offset(part), part_bias};
      step.run({ports, bias ? 4u : 3u});
      steps_.for_each_run(part, after);
    });
  }

  void backward_data(const tenon::Call& call, const float* output_grad, const float* weight, float* data_grad) {
    if (few_places_) return few_places_->backward_data(call, output_grad, weight, data_grad);
    if (shape_.data[0] == 0) return;
    if (!backward_data_)
      backward_data_.emplace(parts_.of_samples(worthwhile()), shape_.output[1], steps_.any_weights_of(shape_.output[1]),
                             [&](const WindowPart& part, const onednn::Desc& weights) { return steps_.backward_data(part, weights); });
    const auto kept = [](std::size_t) -> const void* { return nullptr; };
    backward_data_->for_each(call, weight, kept, [&](const WindowPart& part, const ConvolutionStep& step, const void* laid_out) {
      const void* const ports[] = {output_grad + steps_.output_offset(part), laid_out, data_grad + steps_.data_offset(part)};
      step.run(ports);
    });
  }

  /// Null: not wanted.
  void backward_weights(const tenon::Call& call, const float* data, const float* output_grad, float* weight_grad, float* bias_grad) {
    if (few_places_) return few_places_->backward_weights(call, data, output_grad, weight_grad, bias_grad);
    if (!gradient_) gradient_.emplace(steps_, parts_, shape_, groups_);
    gradient_->run(call, data, output_grad, weight_grad, bias_grad);
  }

 private:
  /// Whether the weights are by far the largest tensor, and all places use all of them.
  bool shares_large_weights() const {
    const auto others = static_cast<std::size_t>(shape_.data.size() + shape_.output.size()) * sizeof(float);
    return groups_ == 1 && steps_.weights().get_size() / 4 > others;
  }

  /// Of large weights, parts had better not all read all.
  std::vector<WindowPart> cut_forward() const {
    const auto filters = onednn::uses_avx512() ? 128 : 64;  // with AVX-512 oneDNN blocks fewer in a way that is slower
    if (shares_large_weights() && shape_.output[1] % filters == 0) return parts_.of_filters(filters);
    return parts_.of_rows(worthwhile());
  }

  std::int64_t worthwhile() const {
    const auto bytes = steps_.weights().get_size();
    return WindowParts::worthwhile(operations(shape_, bytes), bytes);
  }

  ConvolutionSteps steps_;
  WindowParts parts_;
  ConvolutionShape shape_;
  std::int64_t groups_;
  std::optional<FewPlaces> few_places_;
  std::optional<AmxConvolution> amx_;
  std::optional<Winograd> winograd_;
  std::optional<ConvolutionPass> forward_, backward_data_;
  std::optional<ConvolutionGradient> gradient_;
};

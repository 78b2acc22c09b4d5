// The three passes of a convolution of fixed shapes, each created on first use and then cached.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "amx_convolution.hpp"
#include "convolution_choice.hpp"
#include "convolution_gradient.hpp"
#include "convolution_pass.hpp"
#include "convolution_steps.hpp"
#include "im2col_convolution.hpp"
#include "windows_convolution.hpp"
#include "winograd_convolution.hpp"

/// The properties that select its algorithms.
inline ConvolutionProblem problem_of(const Window& window, const ConvolutionShape& shape,
                                     std::int64_t groups) {
  return {window,
          shape.data,
          shape.output,
          groups,
          shape.data_layout == onednn::Layout::channels_last,
          shape.output_layout == onednn::Layout::channels_last,
          shape.rounded == onednn::Type::bf16,
          product::this_processor(),
          onednn::uses_avx512()};
}

/// Algorithms are chosen once, in the constructor (convolution_choice.hpp).
class ConvolutionKernel {
 public:
  ConvolutionKernel(const Window& window, const ConvolutionShape& shape, std::int64_t groups)
      : ConvolutionKernel(window, shape, problem_of(window, shape, groups)) {}

  /// Memory held by the passes.
  std::size_t bytes() const {
    const auto bytes_of = [](const auto& pass) { return pass ? pass->bytes() : 0; };
    return bytes_of(forward_) + bytes_of(backward_data_) + bytes_of(gradient_);
  }

  /// Calls body(algorithm) if forward uses an algorithm that packs its weights itself; returns
  /// whether it does.
  template <class Body>
  bool with_own_forward(Body&& body) const {
    switch (forward_choice_.algorithm) {
      case ConvolutionAlgorithm::im2col:
        return body(*im2col_), true;
      case ConvolutionAlgorithm::windows:
        return body(*windows_), true;
      case ConvolutionAlgorithm::amx:
        return body(*amx_), true;
      case ConvolutionAlgorithm::winograd:
        return body(*winograd_), true;
      default:
        return false;
    }
  }

  /// The chosen algorithm and the reason, for plans.
  std::string forward_algorithm() {
    const auto text = choice::text_of(forward_choice_);
    if (with_own_forward([](const auto&) {})) return text;
    auto* const pass = forward_pass();
    return pass ? text + "; " + pass->algorithm() : text;
  }
  std::string data_gradient_algorithm() const { return choice::text_of(data_gradient_choice_); }
  std::string weight_gradient_algorithm() const { return choice::text_of(weight_gradient_choice_); }

  /// The forward pass; null if there is nothing to do.
  ConvolutionPass* forward_pass() {
    if (shape_.data[0] == 0) return nullptr;
    if (!forward_)
      forward_.emplace(cut_forward(), shape_.output[1],
                       steps_.any_weights_of(cut_forward().front().filters),
                       [&](const WindowChunk& chunk, const onednn::Desc& weights) {
                         return steps_.forward(chunk, weights);
                       });
    return &*forward_;
  }

  /// bias: may be null. prepacked(i): the packed weights in the forward pass's layout i, or null.
  /// after(first, count) is called after each chunk, for all runs of its output elements.
  template <class Prepacked, class After>
  void forward(const tenon::Call& call, const float* data, const float* weight, const float* bias,
               float* output, Prepacked&& prepacked, After&& after) {
    if (with_own_forward([&](const auto& own) {
          own.forward(call, data, weight, prepacked(0), bias, output, after);
        }))
      return;
    auto* const pass = forward_pass();
    if (!pass) return;
    pass->for_each(
        call, weight, prepacked,
        [&](const WindowChunk& chunk, const ConvolutionPrimitive& step, const void* laid_out) {
          const float* const chunk_bias = bias ? bias + chunk.filter : nullptr;
          const void* const ports[] = {data + steps_.data_offset(chunk), laid_out,
                                       output + steps_.output_offset(chunk), chunk_bias};
          step.run({ports, bias ? 4u : 3u});
          steps_.for_each_run(chunk, after);
        });
  }

  void backward_data(const tenon::Call& call, const float* output_grad, const float* weight,
                     float* data_grad) {
    if (data_gradient_choice_.algorithm == ConvolutionAlgorithm::im2col)
      return im2col_->backward_data(call, output_grad, weight, data_grad);
    if (shape_.data[0] == 0) return;
    if (!backward_data_)
      backward_data_.emplace(partition_.of_samples(worthwhile()), shape_.output[1],
                             steps_.any_weights_of(shape_.output[1]),
                             [&](const WindowChunk& chunk, const onednn::Desc& weights) {
                               return steps_.backward_data(chunk, weights);
                             });
    const auto prepacked = [](std::size_t) -> const void* { return nullptr; };
    backward_data_->for_each(
        call, weight, prepacked,
        [&](const WindowChunk& chunk, const ConvolutionPrimitive& step, const void* laid_out) {
          const void* const ports[] = {output_grad + steps_.output_offset(chunk), laid_out,
                                       data_grad + steps_.data_offset(chunk)};
          step.run(ports);
        });
  }

  /// Null pointers: not requested.
  void backward_weights(const tenon::Call& call, const float* data, const float* output_grad,
                        float* weight_grad, float* bias_grad) {
    if (weight_gradient_choice_.algorithm == ConvolutionAlgorithm::im2col)
      return im2col_->backward_weights(call, data, output_grad, weight_grad, bias_grad);
    if (!gradient_)
      gradient_.emplace(
          steps_, partition_, shape_,
          weight_gradient_choice_.algorithm == ConvolutionAlgorithm::direct_by_filters);
    gradient_->run(call, data, output_grad, weight_grad, bias_grad);
  }

 private:
  ConvolutionKernel(const Window& window, const ConvolutionShape& shape,
                    const ConvolutionProblem& problem)
      : steps_(window, shape, problem.groups),
        partition_(window, shape.data, shape.output),
        shape_(shape),
        forward_choice_(choice::first_of<convolution_choice::forward>(problem)),
        data_gradient_choice_(choice::first_of<convolution_choice::data_gradient>(problem)),
        weight_gradient_choice_(choice::first_of<convolution_choice::weight_gradient>(problem)),
        filters_per_chunk_(convolution_choice::filters_per_chunk(problem)) {
    const auto any_is = [&](ConvolutionAlgorithm algorithm) {
      return forward_choice_.algorithm == algorithm ||
             data_gradient_choice_.algorithm == algorithm ||
             weight_gradient_choice_.algorithm == algorithm;
    };
    if (any_is(ConvolutionAlgorithm::im2col)) im2col_.emplace(window, shape);
    if (any_is(ConvolutionAlgorithm::windows)) windows_.emplace(window, shape);
    if (any_is(ConvolutionAlgorithm::amx)) amx_.emplace(window, shape);
    if (any_is(ConvolutionAlgorithm::winograd)) winograd_.emplace(window, shape);
  }

  /// Splits by filters if the weights are large, so that not every chunk reads all of them.
  std::vector<WindowChunk> cut_forward() const {
    return forward_choice_.algorithm == ConvolutionAlgorithm::direct_by_filters
               ? partition_.of_filters(filters_per_chunk_)
               : partition_.of_rows(worthwhile());
  }

  std::int64_t worthwhile() const {
    const auto bytes = steps_.weights().get_size();
    return WindowPartition::worthwhile(operations(shape_, bytes), bytes);
  }

  ConvolutionPrimitives steps_;
  WindowPartition partition_;
  ConvolutionShape shape_;
  const ConvolutionRow &forward_choice_, &data_gradient_choice_, &weight_gradient_choice_;
  std::int64_t filters_per_chunk_;
  std::optional<Im2colConvolution> im2col_;
  std::optional<WindowsConvolution> windows_;
  std::optional<AmxConvolution> amx_;
  std::optional<WinogradConvolution> winograd_;
  std::optional<ConvolutionPass> forward_, backward_data_;
  std::optional<ConvolutionGradient> gradient_;
};

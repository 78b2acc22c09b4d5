// oneDNN's primitives for a convolution: one for each of the three passes.
#pragma once
#include "onednn/step.hpp"
#include "shared/window.hpp"

/// The shapes of one convolution, and the steps for any number of its samples. Weights go in and come out in the layout that the
/// step names (layout(DNNL_ARG_WEIGHTS)), so that many chunks share one that was laid out once.
class ConvolutionSteps {
 public:
  ConvolutionSteps(const Window& window, const tenon::Shape& data, const tenon::Shape& output, std::int64_t groups, bool bias)
      : data_(data.begin(), data.end()), output_(output.begin(), output.end()), bias_(bias) {
    onednn::require_countable(data, "data");
    onednn::require_countable(output, "output");
    if (groups > 1) weights_ = {groups};
    weights_.insert(weights_.end(), {output[1] / groups, data[1] / groups});
    for (int i = 0; i < window.axes; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      weights_.push_back(window.kernel[axis]);
      stride_.push_back(window.stride[axis]);
      dilate_.push_back(window.dilate[axis] - 1);  // oneDNN counts the gaps
      before_.push_back(window.pad[axis]);
      // What stride leaves over at the end is not padding for oneDNN.
      after_.push_back((output[i + 2] - 1) * window.stride[axis] + window.reach(i) - data[i + 2] - window.pad[axis]);
    }
  }

  onednn::Desc weights() const { return onednn::plain(weights_); }

  /// Ports: data, weight, output and, with a bias, bias.
  onednn::Step forward(std::int64_t samples, const onednn::Step* like) const {
    const auto made = description(samples, like ? like->layout(DNNL_ARG_WEIGHTS) : onednn::any(weights_));
    std::vector<onednn::Port> ports{{DNNL_ARG_SRC, onednn::plain(batch_of(samples, data_)), made.src_desc()},
                                    {DNNL_ARG_WEIGHTS, made.weights_desc(), made.weights_desc()},
                                    {DNNL_ARG_DST, onednn::plain(batch_of(samples, output_)), made.dst_desc(), true}};
    if (bias_) ports.push_back({DNNL_ARG_BIAS, made.bias_desc(), made.bias_desc()});
    return {dnnl::convolution_forward(made), made.scratchpad_desc(), ports};
  }

  /// Ports: output gradient, weight, data gradient.
  onednn::Step backward_data(std::int64_t samples, const onednn::Step* like) const {
    using Backward = dnnl::convolution_backward_data;
    const auto weights = like ? like->layout(DNNL_ARG_WEIGHTS) : onednn::any(weights_);
    const Backward::desc wanted(algorithm, onednn::any(batch_of(samples, data_)), weights, onednn::any(batch_of(samples, output_)), stride_,
                                dilate_, before_, after_);
    const Backward::primitive_desc made(wanted, onednn::with_own_scratchpad(), onednn::cpu(), description(samples, onednn::any(weights_)));
    return {Backward(made),
            made.scratchpad_desc(),
            {{DNNL_ARG_DIFF_DST, onednn::plain(batch_of(samples, output_)), made.diff_dst_desc()},
             {DNNL_ARG_WEIGHTS, made.weights_desc(), made.weights_desc()},
             {DNNL_ARG_DIFF_SRC, onednn::plain(batch_of(samples, data_)), made.diff_src_desc(), true}}};
  }

  /// Ports: data, output gradient, weight gradient and, with a bias, bias gradient.
  onednn::Step backward_weights(std::int64_t samples, const onednn::Step* like) const {
    using Backward = dnnl::convolution_backward_weights;
    const auto data = onednn::any(batch_of(samples, data_)), output = onednn::any(batch_of(samples, output_));
    const auto weights = like ? like->layout(DNNL_ARG_DIFF_WEIGHTS) : onednn::any(weights_);
    const auto wanted = bias_ ? Backward::desc(algorithm, data, weights, bias(), output, stride_, dilate_, before_, after_)
                              : Backward::desc(algorithm, data, weights, output, stride_, dilate_, before_, after_);
    const Backward::primitive_desc made(wanted, onednn::with_own_scratchpad(), onednn::cpu(), description(samples, onednn::any(weights_)));
    std::vector<onednn::Port> ports{{DNNL_ARG_SRC, onednn::plain(batch_of(samples, data_)), made.src_desc()},
                                    {DNNL_ARG_DIFF_DST, onednn::plain(batch_of(samples, output_)), made.diff_dst_desc()},
                                    {DNNL_ARG_DIFF_WEIGHTS, made.diff_weights_desc(), made.diff_weights_desc(), true}};
    if (bias_) ports.push_back({DNNL_ARG_DIFF_BIAS, made.diff_bias_desc(), made.diff_bias_desc(), true});
    return {Backward(made), made.scratchpad_desc(), ports};
  }

 private:
  static constexpr auto algorithm = dnnl::algorithm::convolution_direct;

  static onednn::Dims batch_of(std::int64_t samples, onednn::Dims dims) {
    dims[0] = samples;
    return dims;
  }

  onednn::Desc bias() const { return onednn::plain({output_[1]}); }

  dnnl::convolution_forward::primitive_desc description(std::int64_t samples, const onednn::Desc& weights) const {
    using Forward = dnnl::convolution_forward;
    const auto data = onednn::any(batch_of(samples, data_)), output = onednn::any(batch_of(samples, output_));
    constexpr auto kind = dnnl::prop_kind::forward_training;
    const auto wanted = bias_ ? Forward::desc(kind, algorithm, data, weights, bias(), output, stride_, dilate_, before_, after_)
                              : Forward::desc(kind, algorithm, data, weights, output, stride_, dilate_, before_, after_);
    return {wanted, onednn::with_own_scratchpad(), onednn::cpu()};
  }

  onednn::Dims data_, weights_, output_, stride_, dilate_, before_, after_;
  bool bias_;
};

// oneDNN's primitives for a convolution: one for each of the three passes.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "convolution_choice.hpp"
#include "convolution_step.hpp"
#include "onednn/layout.hpp"
#include "onednn/step.hpp"
#include "shared/window_partition.hpp"

/// The configuration of a convolution: sizes, the layouts of the tensors, and the type to which the
/// operands are rounded. Tensors and accumulators are f32.
struct ConvolutionShape {
  tenon::Shape data, output;
  bool bias = false;
  onednn::Layout data_layout = onednn::Layout::plain, output_layout = onednn::Layout::plain;
  onednn::Type rounded = onednn::Type::f32;
  friend bool operator==(const ConvolutionShape&, const ConvolutionShape&) = default;
};

/// Creates the primitives for any chunk of one convolution. Weights are in the layout that the
/// primitive chose (layout(DNNL_ARG_WEIGHTS)), so that many chunks share weights that were
/// reordered once.
class ConvolutionPrimitives {
 public:
  ConvolutionPrimitives(const Window& window, const ConvolutionShape& shape, std::int64_t groups)
      : shape_(shape),
        groups_(groups),
        data_(shape.data.begin(), shape.data.end()),
        output_(shape.output.begin(), shape.output.end()) {
    onednn::require_int32_sizes(shape.data, "data");
    onednn::require_int32_sizes(shape.output, "output");
    if (groups > 1) weights_ = {groups};
    weights_.insert(weights_.end(), {output_[1] / groups, data_[1] / groups});
    for (int i = 0; i < window.axes; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      weights_.push_back(window.kernel[axis]);
      stride_.push_back(window.stride[axis]);
      dilate_.push_back(window.dilate[axis] - 1);  // oneDNN counts the gaps between taps
      pad_before_.push_back(window.pad[axis]);
      const auto left = (output_[axis + 2] - 1) * window.stride[axis] + window.reach(i) -
                        data_[axis + 2] - window.pad[axis];
      pad_after_.push_back(
          std::max<std::int64_t>(left, 0));  // the stride may leave a remainder of data
    }
  }

  onednn::Desc weights() const { return onednn::plain(weights_); }
  /// Dimensions of the weights of `filters` filters; with groups, of all.
  onednn::Dims weights_of(std::int64_t filters) const {
    auto dims = weights_;
    if (filters < output_[1]) dims[0] = filters;
    return dims;
  }
  /// The descriptor of the weights as forward and backward_data read them, in any layout.
  onednn::Desc any_weights_of(std::int64_t filters) const {
    return any_factor(weights_of(filters));
  }

  /// Offset of a chunk, in elements.
  std::int64_t data_offset(const WindowChunk& chunk) const {
    const auto strides = onednn::strides_of(data_, shape_.data_layout);
    return chunk.sample * strides[0] + chunk.data_row * strides[2];
  }
  std::int64_t output_offset(const WindowChunk& chunk) const {
    const auto strides = onednn::strides_of(output_, shape_.output_layout);
    return chunk.sample * strides[0] + chunk.filter * strides[1] + chunk.row * strides[2];
  }

  /// Calls body(first, count) for each contiguous run of a chunk's output elements.
  template <class Body>
  void for_each_run(const WindowChunk& chunk, Body&& body) const {
    const auto strides = onednn::strides_of(output_, shape_.output_layout);
    const auto first = output_offset(chunk);
    const bool plain = shape_.output_layout == onednn::Layout::plain,
               all_filters = chunk.filters == output_[1];
    // output positions of one filter in one sample
    const auto positions = chunk.rows * (plain ? strides[2] : strides[2] / output_[1]);
    if (all_filters && chunk.rows == output_[2]) return body(first, chunk.samples * strides[0]);
    for (std::int64_t i = 0; i < chunk.samples; ++i) {
      const auto begin = first + i * strides[0];
      if (!plain && all_filters)
        body(begin, positions * output_[1]);
      else if (plain)
        for (std::int64_t filter = 0; filter < chunk.filters; ++filter)
          body(begin + filter * strides[1], positions);
      else
        for (std::int64_t position = 0; position < positions; ++position)
          body(begin + position * output_[1], chunk.filters);
    }
  }

  /// The step's ports are data, weight, output and, if there is one, bias.
  ConvolutionPrimitive forward(const WindowChunk& chunk, const onednn::Desc& weights) const {
    const bool data_last = shape_.data_layout == onednn::Layout::channels_last;
    const bool output_last = shape_.output_layout == onednn::Layout::channels_last;
    StepProblem problem{static_cast<int>(stride_.size()), groups_,     output_[1], output_.back(),
                        data_last || data_[1] == 1,       output_last, {}};
    std::optional<onednn::Step> step;
    if (convolution_choice::prefers_channels_last(data_last, output_last, problem.columns)) {
      step = forward_step(chunk, description(chunk, weights, onednn::Layout::channels_last));
      problem.implementation = step->implementation();
    }
    switch (choice::first_of<convolution_choice::step>(problem).algorithm) {
      case StepAlgorithm::small_filter:
        return small_filter(chunk);
      case StepAlgorithm::channels_last:
        return std::move(*step);
      default:
        return forward_step(chunk, description(chunk, weights, {}));
    }
  }

  /// The step's ports are the output gradient, weight and data gradient.
  onednn::Step backward_data(const WindowChunk& chunk, const onednn::Desc& weights) const {
    using Backward = dnnl::convolution_backward_data;
    const auto data = data_of(chunk), output = output_of(chunk);
    const Backward::desc op_desc(algorithm, onednn::any(data), weights, any_factor(output), stride_,
                                 dilate_, pad_before_, pad_after_);
    const Backward::primitive_desc pd(op_desc, onednn::with_user_scratchpad(), onednn::cpu(),
                                      hint(data, weights_, output));
    return {
        Backward(pd),
        pd.scratchpad_desc(),
        {{DNNL_ARG_DIFF_DST, user_desc(output_, output, shape_.output_layout), pd.diff_dst_desc()},
         {DNNL_ARG_WEIGHTS, pd.weights_desc(), pd.weights_desc()},
         {DNNL_ARG_DIFF_SRC, user_desc(data_, data, shape_.data_layout), pd.diff_src_desc(),
          true}}};
  }

  /// The step's ports are data, the output gradient, the weight gradient (plain if `to_plain`, else
  /// in the primitive's layout) and, with a bias, the bias gradient.
  onednn::Step backward_weights(const WindowChunk& chunk, const onednn::Desc& weights,
                                bool to_plain) const {
    using Backward = dnnl::convolution_backward_weights;
    const auto data = data_of(chunk), output = output_of(chunk);
    const auto any_data = any_factor(data), any_output = any_factor(output),
               bias = onednn::plain({chunk.filters});
    const auto op_desc = shape_.bias
                             ? Backward::desc(algorithm, any_data, weights, bias, any_output,
                                              stride_, dilate_, pad_before_, pad_after_)
                             : Backward::desc(algorithm, any_data, weights, any_output, stride_,
                                              dilate_, pad_before_, pad_after_);
    const Backward::primitive_desc pd(op_desc, onednn::with_user_scratchpad(), onednn::cpu(),
                                      hint(data, weights.dims(), output));
    const auto weight_layout = pd.diff_weights_desc();
    std::vector<onednn::Port> ports{
        {DNNL_ARG_SRC, user_desc(data_, data, shape_.data_layout), pd.src_desc()},
        {DNNL_ARG_DIFF_DST, user_desc(output_, output, shape_.output_layout), pd.diff_dst_desc()},
        {DNNL_ARG_DIFF_WEIGHTS, to_plain ? onednn::plain(weight_layout.dims()) : weight_layout,
         weight_layout, true}};
    if (shape_.bias)
      ports.push_back({DNNL_ARG_DIFF_BIAS, pd.diff_bias_desc(), pd.diff_bias_desc(), true});
    return {Backward(pd), pd.scratchpad_desc(), ports};
  }

 private:
  static constexpr auto algorithm = dnnl::algorithm::convolution_direct;
  using Description = dnnl::convolution_forward::primitive_desc;

  SmallFilterConvolution small_filter(const WindowChunk& chunk) const {
    const auto axis = [&](std::size_t i, std::int64_t size, std::int64_t positions,
                          std::int64_t before) {
      return SmallFilterConvolution::Axis{size,       positions,      weights_[i + 2],
                                          stride_[i], dilate_[i] + 1, before};
    };
    return {chunk, data_[1], output_[1], axis(0, chunk.data_rows, chunk.rows, chunk.before),
            axis(1, data_[3], output_[3], pad_before_[1])};
  }

  /// Descriptor of an operand in any layout, in the type to which operands are rounded.
  onednn::Desc any_factor(const onednn::Dims& dims) const {
    return onednn::any(dims, shape_.rounded);
  }

  onednn::Dims data_of(const WindowChunk& chunk) const {
    auto dims = data_;
    dims[0] = chunk.samples;
    dims[2] = chunk.data_rows;
    return dims;
  }
  onednn::Dims output_of(const WindowChunk& chunk) const {
    auto dims = output_;
    dims[0] = chunk.samples;
    dims[1] = chunk.filters;
    dims[2] = chunk.rows;
    return dims;
  }

  /// The layout of a chunk of a tensor.
  static onednn::Desc user_desc(const onednn::Dims& whole, const onednn::Dims& chunk,
                                onednn::Layout layout) {
    const bool slice =
        layout == onednn::Layout::channels_last && chunk[0] == 1 && chunk[1] == whole[1];
    if (slice) return onednn::dense(chunk, layout);  // without gaps, like a whole tensor
    return {chunk, onednn::Type::f32, onednn::strides_of(whole, layout)};
  }

  onednn::Step forward_step(const WindowChunk& chunk, const Description& pd) const {
    const auto data = data_of(chunk), output = output_of(chunk);
    const auto user_output = user_desc(output_, output, shape_.output_layout);
    std::vector<onednn::Port> ports{
        {DNNL_ARG_SRC, user_desc(data_, data, shape_.data_layout), pd.src_desc()},
        {DNNL_ARG_WEIGHTS, pd.weights_desc(), pd.weights_desc()},
        {DNNL_ARG_DST, user_output, pd.dst_desc(), true}};
    if (shape_.bias) ports.push_back({DNNL_ARG_BIAS, pd.bias_desc(), pd.bias_desc()});
    return {dnnl::convolution_forward(pd), pd.scratchpad_desc(), ports};
  }

  /// Describes the forward pass. Without `layout`, oneDNN chooses one.
  Description description(const WindowChunk& chunk, const onednn::Desc& weights,
                          std::optional<onednn::Layout> layout) const {
    const auto data = data_of(chunk), output = output_of(chunk);
    const auto desc = [&](const onednn::Dims& dims, onednn::Type type) {
      return layout ? onednn::dense(dims, *layout, type) : onednn::any(dims, type);
    };
    auto before = pad_before_, after = pad_after_;
    before[0] = chunk.before;
    after[0] = chunk.after;
    const auto kind = convolution_choice::prefers_training(output_[1], output_.back())
                          ? dnnl::prop_kind::forward_training
                          : dnnl::prop_kind::forward_inference;
    return {forward_desc(kind, desc(data, shape_.rounded), weights, desc(output, onednn::Type::f32),
                         before, after),
            onednn::with_user_scratchpad(), onednn::cpu()};
  }

  /// The forward primitive that oneDNN requires as a hint for the backward passes.
  Description hint(const onednn::Dims& data, const onednn::Dims& weights,
                   const onednn::Dims& output) const {
    constexpr auto kind = dnnl::prop_kind::forward_training;
    return {forward_desc(kind, any_factor(data), any_factor(weights), onednn::any(output),
                         pad_before_, pad_after_),
            onednn::with_user_scratchpad(), onednn::cpu()};
  }

  dnnl::convolution_forward::desc forward_desc(dnnl::prop_kind kind, const onednn::Desc& data,
                                               const onednn::Desc& weights,
                                               const onednn::Desc& output,
                                               const onednn::Dims& before,
                                               const onednn::Dims& after) const {
    using Forward = dnnl::convolution_forward;
    const auto bias = onednn::plain({output.dims()[1]});
    return shape_.bias ? Forward::desc(kind, algorithm, data, weights, bias, output, stride_,
                                       dilate_, before, after)
                       : Forward::desc(kind, algorithm, data, weights, output, stride_, dilate_,
                                       before, after);
  }

  ConvolutionShape shape_;
  std::int64_t groups_;
  onednn::Dims data_, weights_, output_, stride_, dilate_, pad_before_, pad_after_;
};

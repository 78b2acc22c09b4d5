// Convolution over 1 to 3 spatial axes.
#pragma once
#include <algorithm>
#include <tenon/operator.hpp>

#include "scaling_rules.hpp"
#include "shared/fits.hpp"
#include "shared/window.hpp"

/// Base of convolution and fused_convolution. Base: tenon::Operator, or a class with additional
/// parameters.
template <class Base>
struct ConvolutionLayer : Base {
  std::int64_t num_filter = 0, groups = 1;
  tenon::Ints kernel, stride, pad, pad_end, dilate;
  Padding pad_mode = Padding::from_parameters;
  bool no_bias = false;

  static constexpr void describe_tensors(auto& op) {
    op.input("data",
             "[batch, channels, spatial axes ...], one spatial axis for each value of `kernel`");
    op.input("weight", "[num_filter, channels / groups, kernel ...]").weight();
    op.input("bias", "[num_filter]; absent if `no_bias` is set").optional().weight();
    op.output("output",
              "[batch, num_filter, floor((axis + pad + pad_end - dilate * (kernel - 1) - 1) / "
              "stride) + 1 for each spatial axis]");
  }

  static constexpr void describe_parameters(auto& op) {
    op.param("num_filter", &ConvolutionLayer::num_filter,
             "number of output channels, a multiple of `groups`")
        .required()
        .at_least(1);
    op.param("kernel", &ConvolutionLayer::kernel,
             "filter size along each spatial axis, 1 to 3 values")
        .required()
        .at_least(1)
        .at_most(Window::max_number);
    op.param(
          "stride", &ConvolutionLayer::stride,
          "step of the filters along each spatial axis; one value applies to all axes; default: 1")
        .at_least(1)
        .at_most(Window::max_number);
    describe_padding<ConvolutionLayer>(op,
                                       "zero padding on both sides of each spatial axis; one value "
                                       "applies to all axes; default: 0");
    op.param("dilate", &ConvolutionLayer::dilate,
             "distance between kernel elements along each spatial axis; one value applies to all "
             "axes; default: 1")
        .at_least(1)
        .at_most(Window::max_number);
    op.param("groups", &ConvolutionLayer::groups,
             "number of channel groups; output channels of a group depend only on data channels of "
             "the same group")
        .at_least(1);
    op.param("no_bias", &ConvolutionLayer::no_bias,
             "no bias is added, and the input bias must be absent");
    op.kernels_elsewhere();
  }

  void infer(tenon::Infer& io) const {
    require_parameters(io);
    const auto weight = io.input("weight").shape;
    auto data = io.input("data").shape;
    const auto moved = window(data);
    if (!data.has_rank()) data = tenon::Shape::of_rank(moved.axes + 2);
    require_spatial(io, data, moved.axes);
    if (data[1] == tenon::unknown && weight.rank() > 1 && weight[1] != tenon::unknown)
      data.set(1, weight[1] * groups);
    io.require(data[1] == tenon::unknown || data[1] % groups == 0, "data ", data, " has ", data[1],
               " channels, which is not a multiple of groups, ", groups);

    auto needed = tenon::Shape::of_rank(moved.axes + 2);
    needed.set(0, num_filter);
    if (data[1] != tenon::unknown) needed.set(1, data[1] / groups);
    auto output = tenon::Shape::of_rank(moved.axes + 2);
    output.set(0, data[0]);
    output.set(1, num_filter);
    for (int axis = 0; axis < moved.axes; ++axis)
      needed.set(axis + 2, kernel[static_cast<std::size_t>(axis)]);
    set_output_sizes(io, moved, data, output);

    io.require(fits(weight, needed), "weight is ", weight, " but data ", data, " needs ", needed);
    io.set_input("data", data);
    io.set_input("weight", needed);
    io.require(!no_bias || !io.has_input("bias"), "has a bias although no_bias is set");
    if (!no_bias) io.set_input("bias", {num_filter});
    io.set_output(0, output);
  }

  double flops(const tenon::Infer& io) const {
    const auto weight = io.input("weight").shape;
    return 2.0 * static_cast<double>(io.output(0).shape.size()) *
           static_cast<double>(weight.size() / std::max<std::int64_t>(weight[0], 1));
  }
  double backward_flops(const tenon::Infer& io) const { return 2 * flops(io); }

 protected:
  Window window(const tenon::Shape& data) const {
    const int axes = static_cast<int>(kernel.size());
    const Window moved{axes,
                       Window::numbers(kernel, axes, {}),
                       Window::numbers(stride, axes, {1, 1, 1}),
                       {},
                       Window::numbers(dilate, axes, {1, 1, 1})};
    return moved.with_padding(pad_mode, pad, pad_end, data);
  }

 private:
  void require_parameters(const tenon::Infer& io) const {
    require_kernel(io, kernel);
    require_numbers(io, "stride", stride, kernel.size());
    require_padding(io, pad_mode, pad, pad_end, kernel.size());
    require_numbers(io, "dilate", dilate, kernel.size());
    if (num_filter % groups != 0)
      io.param_error("num_filter", "is ", num_filter, ", which is not a multiple of groups, ",
                     groups);
  }
};

struct Convolution : ConvolutionLayer<tenon::Operator> {
  static constexpr void describe(auto& op) {
    op.doc("cross-correlation of data with num_filter filters over 1 to 3 spatial axes");
    op.types({tenon::f32, tenon::f64});
    describe_tensors(op);
    op.linear("data", "weight");
    op.linear("bias");
    describe_parameters(op);
    op.backward_reads("data", "weight");
    op.prefers_channels_last("data", "output");
    TENON_FOLD_SCALES(op);
    op.example({{"data", {1, 2, 5, 5}}, {"weight", {3, 2, 3, 3}}, {"bias", {3}}},
               {{"num_filter", 3}, {"kernel", {3, 3}}});
    op.example({{"data", {1, 2, 7}}, {"weight", {3, 2, 3}}, {"bias", {3}}},
               {{"num_filter", 3}, {"kernel", {3}}});
  }
};

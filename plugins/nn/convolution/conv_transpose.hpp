// Transposed convolution over 1 to 3 spatial axes: the gradient of a convolution with respect to
// its data.
#pragma once
#include <algorithm>
#include <tenon/operator.hpp>

#include "shared/fits.hpp"
#include "shared/window.hpp"

struct ConvTranspose : tenon::Operator {
  std::int64_t num_filter = 0, groups = 1;
  tenon::Ints kernel, stride, pad, pad_end, dilate, output_padding;
  Padding pad_mode = Padding::from_parameters;
  bool no_bias = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "transposed convolution of data with num_filter filters over 1 to 3 spatial axes: the "
        "gradient of a convolution with respect to "
        "its data");
    op.types({tenon::f32, tenon::f64});
    op.input("data",
             "[batch, channels, spatial axes ...], one spatial axis for each value of `kernel`");
    op.input("weight", "[channels, num_filter / groups, kernel ...]").weight();
    op.input("bias", "[num_filter]; absent if `no_bias` is set").optional().weight();
    op.output("output",
              "[batch, num_filter, stride * (axis - 1) + dilate * (kernel - 1) + 1 + "
              "output_padding - pad - pad_end for each spatial "
              "axis]");
    op.param("num_filter", &ConvTranspose::num_filter,
             "number of output channels, a multiple of `groups`")
        .required()
        .at_least(1);
    op.param("kernel", &ConvTranspose::kernel, "filter size along each spatial axis, 1 to 3 values")
        .required()
        .at_least(1)
        .at_most(Window::max_number);
    op.param("stride", &ConvTranspose::stride,
             "distance in output between adjacent elements of data; one value applies to all axes; "
             "default: 1")
        .at_least(1)
        .at_most(Window::max_number);
    op.param("pad", &ConvTranspose::pad,
             "number of elements cropped at both ends of each spatial axis of output, as torch's "
             "padding; one value applies to all axes; default: 0")
        .at_least(0)
        .at_most(Window::max_number);
    op.param("pad_end", &ConvTranspose::pad_end,
             "number of elements cropped at the end of each spatial axis of output; one value "
             "applies to all axes; default: same as `pad`")
        .at_least(0)
        .at_most(Window::max_number);
    op.param("pad_mode", &ConvTranspose::pad_mode,
             "cropping mode, as ONNX's auto_pad: given: explicit cropping by `pad` and `pad_end` "
             "(NOTSET); same_upper, same_lower: output is cropped to axis * stride elements, with "
             "the larger half cropped at the end (same_upper) or at the start (same_lower)")
        .one_of({{"given", Padding::from_parameters},
                 {"same_upper", Padding::same_upper},
                 {"same_lower", Padding::same_lower}});
    op.param("dilate", &ConvTranspose::dilate,
             "distance between kernel elements along each spatial axis; one value applies to all "
             "axes; default: 1")
        .at_least(1)
        .at_most(Window::max_number);
    op.param("output_padding", &ConvTranspose::output_padding,
             "number of additional elements at the end of each spatial axis of output, less than "
             "`stride`; one value applies to all axes; default: 0")
        .at_least(0)
        .at_most(Window::max_number);
    op.param("groups", &ConvTranspose::groups,
             "number of channel groups; output channels of a group depend only on data channels of "
             "the same group")
        .at_least(1);
    op.param("no_bias", &ConvTranspose::no_bias,
             "no bias is added, and the input bias must be absent");
    op.kernels_elsewhere();
    op.linear("data", "weight");
    op.linear("bias");
    op.backward_reads("data", "weight");
    op.takes_channels_last("data", "output");
    op.example({{"data", {1, 2, 3, 3}}, {"weight", {2, 3, 3, 3}}, {"bias", {3}}},
               {{"num_filter", 3}, {"kernel", {3, 3}}});
    op.example({{"data", {1, 2, 3, 3}}, {"weight", {2, 1, 3, 2}}, {"bias", {2}}},
               {{"num_filter", 2},
                {"kernel", {3, 2}},
                {"stride", {2, 3}},
                {"output_padding", {1, 2}},
                {"groups", 2}});
  }

  void infer(tenon::Infer& io) const {
    require_parameters(io);
    const auto weight = io.input("weight").shape;
    auto data = io.input("data").shape;
    const int axes = static_cast<int>(kernel.size());
    if (!data.has_rank()) data = tenon::Shape::of_rank(axes + 2);
    require_spatial(io, data, axes);
    if (data[1] == tenon::unknown && weight.rank() > 1) data.set(1, weight[0]);
    io.require(data[1] == tenon::unknown || data[1] % groups == 0, "data ", data, " has ", data[1],
               " channels, which is not a multiple of groups, ", groups);
    const auto moved = window(data);
    auto needed = tenon::Shape::of_rank(axes + 2), output = needed;
    needed.set(0, data[1]);
    needed.set(1, num_filter / groups);
    output.set(0, data[0]);
    output.set(1, num_filter);
    for (int axis = 0; axis < axes; ++axis) {
      needed.set(axis + 2, moved.kernel[static_cast<std::size_t>(axis)]);
      if (data[axis + 2] == tenon::unknown) continue;
      const auto size = length(moved, axis, data[axis + 2]);
      io.require(size > 0, "data ", data, " gives axis ", axis + 2, " of output ", size,
                 " elements: pad crops too many");
      output.set(axis + 2, size);
    }
    io.require(fits(weight, needed), "weight is ", weight, " but data ", data, " needs ", needed);
    io.set_input("data", data);
    io.set_input("weight", needed);
    io.require(!no_bias || !io.has_input("bias"), "has a bias although no_bias is set");
    if (!no_bias) io.set_input("bias", {num_filter});
    io.set_output(0, output);
  }

  double flops(const tenon::Infer& io) const {
    const auto weight = io.input("weight").shape;
    return 2.0 * static_cast<double>(io.input("data").shape.size()) *
           static_cast<double>(weight.size() / std::max<std::int64_t>(weight[0], 1));
  }
  double backward_flops(const tenon::Infer& io) const { return 2 * flops(io); }

 protected:
  /// The window of the convolution from output to data.
  Window window(const tenon::Shape& data) const {
    const int axes = static_cast<int>(kernel.size());
    Window moved{axes,
                 Window::numbers(kernel, axes, {}),
                 Window::numbers(stride, axes, {1, 1, 1}),
                 {},
                 Window::numbers(dilate, axes, {1, 1, 1})};
    moved.pad = Window::numbers(pad, axes, {0, 0, 0});
    moved.pad_end = Window::numbers(pad_end, axes, moved.pad);
    for (int i = 0; i < axes && pad_mode != Padding::from_parameters; ++i) {
      const auto axis = static_cast<std::size_t>(i);
      if (data[i + 2] == tenon::unknown) continue;
      const auto cut = std::max<std::int64_t>(
          length(moved, i, data[i + 2]) - data[i + 2] * moved.stride[axis], 0);
      moved.pad[axis] = pad_mode == Padding::same_upper ? cut / 2 : cut - cut / 2;
      moved.pad_end[axis] = cut - moved.pad[axis];
    }
    return moved;
  }

 private:
  std::int64_t length(const Window& moved, int i, std::int64_t size) const {
    const auto axis = static_cast<std::size_t>(i);
    const auto further = Window::numbers(output_padding, moved.axes, {0, 0, 0})[axis];
    const auto whole = moved.stride[axis] * (size - 1) + moved.reach(i) + further -
                       moved.pad[axis] - moved.pad_end[axis];
    return pad_mode == Padding::from_parameters ? whole
                                                : std::max(whole, size * moved.stride[axis]);
  }

  void require_parameters(const tenon::Infer& io) const {
    require_kernel(io, kernel);
    require_numbers(io, "stride", stride, kernel.size());
    require_padding(io, pad_mode, pad, pad_end, kernel.size());
    require_numbers(io, "dilate", dilate, kernel.size());
    require_numbers(io, "output_padding", output_padding, kernel.size());
    const int axes = static_cast<int>(kernel.size());
    const auto steps = Window::numbers(stride, axes, {1, 1, 1}),
               further = Window::numbers(output_padding, axes, {0, 0, 0});
    for (std::size_t axis = 0; axis < kernel.size(); ++axis)
      if (further[axis] >= steps[axis])
        io.param_error("output_padding", "is ", further[axis], " but stride is ", steps[axis],
                       ": needs a smaller value");
    if (num_filter % groups != 0)
      io.param_error("num_filter", "is ", num_filter, ", which is not a multiple of groups, ",
                     groups);
  }
};

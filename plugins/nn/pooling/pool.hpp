// The pooling operators: descriptions and shape inference. The kernels are in pooling_cpu.hpp and
// pooling_cuda.hpp.
#pragma once
#include <algorithm>
#include <tenon/operator.hpp>

#include "shared/window.hpp"

/// The reduction of a window. inside: the average of its elements inside of data.
enum class Pooling { max, average, inside };

/// Whether oneDNN and MaxOfWindows support the window: no dilation, and never beyond the
/// padding.
inline bool is_plain(const Window& window, const tenon::Shape& data, const tenon::Shape& output) {
  for (int i = 0; i < window.axes; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    if (!data.has_rank() || !output.has_rank() || data[i + 2] == tenon::unknown ||
        output[i + 2] == tenon::unknown)
      continue;
    const auto end = (output[i + 2] - 1) * window.stride[axis] + window.kernel[axis];
    if (window.dilate[axis] != 1 || window.pad[axis] >= window.kernel[axis] ||
        end > window.padded(i, data[i + 2]))
      return false;
    if (window.pad_end[axis] >= window.kernel[axis]) return false;
  }
  return true;
}

/// A window as large as data's spatial axes.
inline Window global_window(const tenon::Shape& data) {
  Window window{data.rank() - 2, {}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}};
  for (int axis = 0; axis < window.axes; ++axis)
    window.kernel[static_cast<std::size_t>(axis)] = data[axis + 2];
  return window;
}

/// Sets the output of the global poolings: data's shape with spatial axes of size 1.
inline void infer_global_pooling(tenon::Infer& io) {
  auto data = io.input(0).shape;
  if (!data.has_rank()) return;
  io.require(data.rank() >= 3 && data.rank() <= 5, "data is ", data,
             " but needs batch, channels and 1 to 3 spatial axes");
  require_nonempty_samples(io, data);
  for (int axis = 2; axis < data.rank(); ++axis) data.set(axis, 1);
  io.set_output(0, data);
}

/// Base of the pooling operators with a moving window.
struct WindowPool : tenon::Operator {
  tenon::Ints kernel, stride, pad, pad_end, dilate;
  Padding pad_mode = Padding::from_parameters;
  bool ceil_mode = false;

  /// padding: documentation of the parameter `pad`.
  static constexpr void describe_windows(auto& op, const char* padding) {
    op.input("data",
             "[batch, channels, spatial axes ...], one spatial axis for each value of `kernel`");
    op.output("output",
              "[batch, channels, (axis + pad + pad_end - dilate * (kernel - 1) - 1) / stride + 1 "
              "for each spatial axis], rounded by "
              "`ceil_mode`");
    op.param("kernel", &WindowPool::kernel, "window size along each spatial axis, 1 to 3 values")
        .required()
        .at_least(1)
        .at_most(Window::max_number);
    op.param("stride", &WindowPool::stride,
             "step of the window along each spatial axis; one value applies to all axes; default: "
             "same as `kernel`")
        .at_least(1)
        .at_most(Window::max_number);
    describe_padding<WindowPool>(op, padding);
    op.param("dilate", &WindowPool::dilate,
             "distance between window elements along each spatial axis; one value applies to all "
             "axes; default: 1")
        .at_least(1)
        .at_most(Window::max_number);
    op.param("ceil_mode", &WindowPool::ceil_mode,
             "round the number of output positions up; the last window may extend past the "
             "padding, but starts before the end of data; false: round down");
    op.kernels_elsewhere();
    op.takes_channels_last("data", "output");
    op.example({{"data", {1, 2, 4, 4}}}, {{"kernel", {2, 2}}});
  }

  /// Attributes common to both operators.
  static constexpr void describe_onnx(auto&& form) {
    form.attribute("kernel_shape", "kernel")
        .attribute("strides", "stride", {1})
        .attribute("dilations", "dilate")
        .attribute("ceil_mode", "ceil_mode")
        .halves("pads", "pad", "pad_end")
        .attribute("auto_pad", "pad_mode", "NOTSET")
        .value("pad_mode", "NOTSET", "given")
        .value("pad_mode", "VALID", "given")
        .value("pad_mode", "SAME_UPPER", "same_upper")
        .value("pad_mode", "SAME_LOWER", "same_lower");
  }

  void infer(tenon::Infer& io) const {
    require_kernel(io, kernel);
    require_numbers(io, "stride", stride, kernel.size());
    require_numbers(io, "dilate", dilate, kernel.size());
    require_padding(io, pad_mode, pad, pad_end, kernel.size());
    auto data = io.input(0).shape;
    const auto moved = window(data);
    for (int axis = 0; axis < moved.axes; ++axis) {
      const auto at = static_cast<std::size_t>(axis);
      const auto max_pad = std::max(moved.pad[at], moved.pad_end[at]);
      if (max_pad >= moved.reach(axis))
        io.param_error(moved.pad[at] == max_pad ? "pad" : "pad_end", "is ", max_pad,
                       " but kernel is ", moved.kernel[at],
                       ": needs a smaller value, or a window may contain only padding");
    }
    if (!data.has_rank()) data = tenon::Shape::of_rank(moved.axes + 2);
    require_spatial(io, data, moved.axes);
    auto output = tenon::Shape::of_rank(moved.axes + 2);
    output.set(0, data[0]);
    output.set(1, data[1]);
    set_output_sizes(io, moved, data, output);
    for (int axis = 0; axis < moved.axes && ceil_mode; ++axis) {
      const auto at = static_cast<std::size_t>(axis);
      if (data[axis + 2] == tenon::unknown) continue;
      const bool left =
          (moved.padded(axis, data[axis + 2]) - moved.reach(axis)) % moved.stride[at] != 0;
      const auto begin =
          output[axis + 2] * moved.stride[at] - moved.pad[at];  // start of an additional window
      if (left && begin < data[axis + 2]) output.set(axis + 2, output[axis + 2] + 1);
    }
    io.set_input(0, data);
    io.set_output(0, output);
  }

  /// The default stride is the window's size.
  Window window(const tenon::Shape& data) const {
    const int axes = static_cast<int>(kernel.size());
    const auto sizes = Window::numbers(kernel, axes, {});
    const Window moved{axes,
                       sizes,
                       Window::numbers(stride, axes, sizes),
                       {},
                       Window::numbers(dilate, axes, {1, 1, 1})};
    return moved.with_padding(pad_mode, pad, pad_end, data);
  }
};

struct MaxPool : WindowPool {
  bool return_indices = false, column_major = false;

  static constexpr void describe(auto& op) {
    op.doc(
        "max pooling over 1 to 3 spatial axes: the maximum of each window, or NaN if an element is "
        "NaN; the gradient goes to the first maximum, or the first NaN");
    op.types(tenon::floating + tenon::Types{tenon::i8, tenon::u8});
    describe_windows(op,
                     "padding on both sides of each spatial axis, ignored by the maximum, smaller "
                     "than the window; one value applies to all axes; default: 0");
    op.output("indices",
              "same shape as output; flat index of the maximum of each window in the whole of "
              "data, the first among equal ones, or of the first NaN")
        .hidden_when("return_indices", false);
    op.param("return_indices", &MaxPool::return_indices, "compute the output indices");
    op.param("column_major", &MaxPool::column_major,
             "indices count the elements of a channel in column-major order, first spatial axis "
             "fastest; false: in row-major order");
    op.backward_reads("data");
    op.example(
        {{"data", {1, 2, 5, 4}}},
        {{"kernel", {2, 2}}, {"dilate", {2, 1}}, {"ceil_mode", true}, {"return_indices", true}});
    describe_onnx(op.onnx("", "MaxPool").outputs("output").ignore("storage_order"));
  }

  void infer(tenon::Infer& io) const {
    WindowPool::infer(io);
    io.set_output(1, io.output(0).shape, tenon::i64);
  }

 protected:
  Pooling pooling() const { return Pooling::max; }
};

struct AvgPool : WindowPool {
  bool count_include_pad = true;

  static constexpr void describe(auto& op) {
    op.doc("average pooling over 1 to 3 spatial axes: the mean of each window");
    op.types(tenon::floating);
    describe_windows(op,
                     "zero padding on both sides of each spatial axis, smaller than the window; "
                     "one value applies to all axes; default: 0");
    op.param("count_include_pad", &AvgPool::count_include_pad,
             "divide by the number of elements in the window, including padding; false: only those "
             "inside data");
    op.example({{"data", {1, 2, 5, 4}}},
               {{"kernel", {3, 2}}, {"pad", {1, 0}}, {"pad_end", {0, 1}}, {"dilate", {1, 2}}});
    op.backward_reads();
    op.linear("data");
    describe_onnx(
        op.onnx("", "AveragePool").attribute("count_include_pad", "count_include_pad", 0));
  }

 protected:
  Pooling pooling() const { return count_include_pad ? Pooling::average : Pooling::inside; }
};

/// Base of the pooling operators with a single window over all spatial axes.
struct GlobalPool : tenon::Operator {
  static constexpr void describe_window(auto& op) {
    op.types(tenon::floating);
    op.input("data", "[batch, channels, spatial axes ...], 1 to 3 spatial axes");
    op.output("output", "[batch, channels, 1 ...]");
    op.kernels_elsewhere();
    op.takes_channels_last("data", "output");
    op.example({{"data", {1, 2, 4, 4}}});
  }

  void infer(tenon::Infer& io) const { infer_global_pooling(io); }

  Window window(const tenon::Shape& data) const { return global_window(data); }
};

struct GlobalMaxPool : GlobalPool {
  static constexpr void describe(auto& op) {
    op.doc(
        "global max pooling: the maximum of each channel of each sample, or NaN if an element is "
        "NaN");
    describe_window(op);
    op.backward_reads("data");
    op.onnx("", "GlobalMaxPool");
  }

 protected:
  Pooling pooling() const { return Pooling::max; }
};

struct GlobalAvgPool : GlobalPool {
  static constexpr void describe(auto& op) {
    op.doc("global average pooling: the mean of each channel of each sample");
    describe_window(op);
    op.backward_reads();
    op.linear("data");
    op.onnx("", "GlobalAveragePool");
  }

 protected:
  Pooling pooling() const { return Pooling::average; }
};

// The pooling operators: what they say of themselves and infer. Their kernels are in pooling_cpu.hpp and pooling_cuda.hpp.
#pragma once
#include <tenon/operator.hpp>

#include "shared/window.hpp"

/// What becomes of a window. inside: the average of its elements inside of data.
enum class Pooling { max, average, inside };

/// The window of a pooling. Without a stride of its own it moves by its own size.
inline Window pooling_window(const tenon::Ints& kernel, const tenon::Ints& stride, const tenon::Ints& pad) {
  const int axes = static_cast<int>(kernel.size());
  const auto sizes = Window::numbers(kernel, axes, {});
  return {axes, sizes, Window::numbers(stride, axes, sizes), Window::numbers(pad, axes, {0, 0, 0}), {1, 1, 1}};
}

/// Checks the parameters and sets the output of max_pool and avg_pool.
inline void infer_pooling(tenon::Infer& io, const tenon::Ints& kernel, const tenon::Ints& stride, const tenon::Ints& pad) {
  require_kernel(io, kernel);
  require_numbers(io, "stride", stride, kernel.size());
  require_numbers(io, "pad", pad, kernel.size());
  const auto window = pooling_window(kernel, stride, pad);
  for (std::size_t axis = 0; axis < kernel.size(); ++axis)
    if (window.pad[axis] >= window.kernel[axis])
      io.param_error("pad", "is ", window.pad[axis], " where kernel is ", window.kernel[axis],
                     ": needs less, or a window may hold nothing");
  auto data = io.input(0).shape;
  if (!data.has_rank()) data = tenon::Shape::of_rank(window.axes + 2);
  require_spatial(io, data, window.axes);
  auto output = tenon::Shape::of_rank(window.axes + 2);
  output.set(0, data[0]);
  output.set(1, data[1]);
  set_places(io, window, data, output);
  io.set_input(0, data);
  io.set_output(0, output);
}

/// A window as large as data's spatial axes.
inline Window global_window(const tenon::Shape& data) {
  Window window{data.rank() - 2, {}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}};
  for (int axis = 0; axis < window.axes; ++axis) window.kernel[static_cast<std::size_t>(axis)] = data[axis + 2];
  return window;
}

/// Sets the output of the global poolings: data's shape with spatial axes of 1.
inline void infer_global_pooling(tenon::Infer& io) {
  auto data = io.input(0).shape;
  if (!data.has_rank()) return;
  io.require(data.rank() >= 3 && data.rank() <= 5, "data is ", data, " but needs batch, channels and 1 to 3 spatial axes");
  require_nonempty_samples(io, data);
  for (int axis = 2; axis < data.rank(); ++axis) data.set(axis, 1);
  io.set_output(0, data);
}

/// The operators whose windows move.
struct WindowPool : tenon::Operator {
  tenon::Ints kernel, stride, pad;

  /// padding: what lies around data.
  static constexpr void describe_windows(auto& op, const char* padding) {
    op.types({tenon::f32});
    op.input("data", "[batch, channels, one spatial axis for each value of kernel ...]");
    op.output("output", "[batch, channels, (axis + 2 pad - kernel) / stride + 1, rounded down, for each spatial axis]");
    op.param("kernel", &WindowPool::kernel, "size of the window along each spatial axis, 1 to 3 values")
        .required()
        .at_least(1)
        .at_most(Window::largest);
    op.param("stride", &WindowPool::stride, "steps along each spatial axis; one value is for all; default: kernel")
        .at_least(1)
        .at_most(Window::largest);
    op.param("pad", &WindowPool::pad, padding).at_least(0).at_most(Window::largest);
    op.kernels_elsewhere();
    op.takes_channels_last("data", "output");
    op.example({{"data", {1, 2, 4, 4}}}, {{"kernel", {2, 2}}});
  }

  /// What the two have in common; other values of the attributes have no place here.
  static constexpr void describe_onnx(auto&& form) {
    form.attribute("kernel_shape", "kernel")
        .attribute("strides", "stride", {1})
        .halves("pads", "pad", "pad")
        .only("auto_pad", "NOTSET")
        .only("ceil_mode", 0)
        .only("dilations", {1})
        .only("dilations", {1, 1})
        .only("dilations", {1, 1, 1});
  }

  void infer(tenon::Infer& io) const { infer_pooling(io, kernel, stride, pad); }

 protected:
  Window window(const tenon::Shape&) const { return pooling_window(kernel, stride, pad); }
};

struct MaxPool : WindowPool {
  static constexpr void describe(auto& op) {
    op.doc("largest element of each window, over 1 to 3 spatial axes");
    describe_windows(
        op, "elements on both sides of each spatial axis that are never the largest, fewer than kernel; one value is for all; default: 0");
    op.backward_reads("data");
    describe_onnx(op.onnx("", "MaxPool").ignore("storage_order"));
  }

 protected:
  Pooling pooling() const { return Pooling::max; }
};

struct AvgPool : WindowPool {
  bool count_include_pad = true;

  static constexpr void describe(auto& op) {
    op.doc("average of each window, over 1 to 3 spatial axes");
    describe_windows(op, "zeros on both sides of each spatial axis, fewer than kernel; one value is for all; default: 0");
    op.param("count_include_pad", &AvgPool::count_include_pad,
             "divide by the size of the window, not by the number of its elements inside data");
    op.backward_reads();
    op.linear("data");
    describe_onnx(op.onnx("", "AveragePool").attribute("count_include_pad", "count_include_pad", 0));
  }

 protected:
  Pooling pooling() const { return count_include_pad ? Pooling::average : Pooling::inside; }
};

/// The operators with one window for everything that is not batch or channel.
struct GlobalPool : tenon::Operator {
  static constexpr void describe_window(auto& op) {
    op.types({tenon::f32});
    op.input("data", "[batch, channels, 1 to 3 spatial axes ...]");
    op.output("output", "[batch, channels, 1 for each spatial axis ...]");
    op.kernels_elsewhere();
    op.takes_channels_last("data", "output");
    op.example({{"data", {1, 2, 4, 4}}});
  }

  void infer(tenon::Infer& io) const { infer_global_pooling(io); }

 protected:
  Window window(const tenon::Shape& data) const { return global_window(data); }
};

struct GlobalMaxPool : GlobalPool {
  static constexpr void describe(auto& op) {
    op.doc("largest element of each channel of each sample");
    describe_window(op);
    op.backward_reads("data");
    op.onnx("", "GlobalMaxPool");
  }

 protected:
  Pooling pooling() const { return Pooling::max; }
};

struct GlobalAvgPool : GlobalPool {
  static constexpr void describe(auto& op) {
    op.doc("average of each channel of each sample");
    describe_window(op);
    op.backward_reads();
    op.linear("data");
    op.onnx("", "GlobalAveragePool");
  }

 protected:
  Pooling pooling() const { return Pooling::average; }
};

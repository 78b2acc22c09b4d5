// What the pooling operators share: the inference of their windows.
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

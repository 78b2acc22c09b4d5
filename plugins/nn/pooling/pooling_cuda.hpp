// The CUDA kernel of the pooling operators.
#pragma once
#include <tenon/gpu/row_major.hpp>

#include "../../shared/order.hpp"
#include "pool.hpp"
#include "shared/sliding.hpp"
#include "shared/thread_group.hpp"

namespace pooling {

/// The maximum of a window and its position in the plane; the first one among equal elements. NaN
/// is larger than all numbers.
struct Maximum {
  float value;
  std::int64_t index;  // negative: none yet
};

struct First {
  TENON_DEVICE Maximum operator()(const Maximum& left, const Maximum& right) const {
    if (left.index < 0 || right.index < 0) return left.index < 0 ? right : left;
    const bool larger = is_larger(right.value, left.value),
               alike = !larger && !is_larger(left.value, right.value);
    return larger || (alike && right.index < left.index) ? right : left;
  }
};

/// Points of all planes, one plane for each sample and channel: the index of the plane, then the
/// indices along three axes.
inline tenon::gpu::RowMajor in_planes(std::int64_t points, const Point& plane) {
  tenon::gpu::RowMajor all;
  all.push(points / std::max<std::int64_t>(Sliding::count(plane), 1));
  for (const auto size : plane.at) all.push(size);
  return all;
}

struct PlanePoint {
  std::int64_t plane = 0;
  Point point{};

  TENON_DEVICE static PlanePoint of(const tenon::gpu::RowMajor& points, std::int64_t i) {
    PlanePoint found;
    points.each_coordinate(i, [&](int axis, std::int64_t at) {
      (axis == 0 ? found.plane : found.point.at[axis - 1]) = at;
    });
    return found;
  }
};

/// The geometry of a window over data, with divisors to decompose indices of windows and taps.
struct Windows {
  Sliding geometry;
  tenon::gpu::RowMajor all, taps;

  Windows(const Sliding& sliding, std::int64_t count)
      : geometry(sliding),
        all(in_planes(count, geometry.positions)),
        taps(in_planes(Sliding::count(geometry.kernel), geometry.kernel)) {}

  /// Calls visit(position in the plane) for the element under every step-th tap.
  template <class Visit>
  TENON_DEVICE void each_element(const Point& window, std::int64_t first, std::int64_t step,
                                 Visit visit) const {
    for (auto tap = first, count = taps.count(); tap < count; tap += step)
      if (const auto at = geometry.element(window, PlanePoint::of(taps, tap).point); at >= 0)
        visit(at);
  }
};

/// Pointers are null if not requested.
struct MaxOfWindow {
  const float* data;
  Windows windows;
  float* output;
  std::int64_t* indices;
  bool in_all = false;  ///< indices refer to all of data instead of one plane

  template <class ThreadGroup>
  TENON_DEVICE void operator()(const ThreadGroup& threads, std::int64_t i) const {
    const auto window = PlanePoint::of(windows.all, i);
    const float* const plane = data + window.plane * Sliding::count(windows.geometry.size);
    Maximum maximum{0, -1};
    windows.each_element(window.point, threads.thread(), group_size<ThreadGroup>,
                         [&](std::int64_t at) {
                           maximum = First()(maximum, {plane[at], at});
                         });
    maximum = threads.reduce(maximum, First());
    if (threads.thread() != 0) return;
    if (output) output[i] = maximum.value;
    if (indices)
      indices[i] =
          maximum.index + (in_all ? window.plane * Sliding::count(windows.geometry.size) : 0);
  }
};

/// The divisor of the sum of a window's elements.
struct Divisor {
  bool inside;
  TENON_DEVICE float of(const Sliding& geometry, const Point& window) const {
    std::int64_t elements = 1;
    for (int axis = 0; axis < 3; ++axis) {
      const auto begin = window.at[axis] * geometry.stride.at[axis] - geometry.pad.at[axis],
                 end = begin + geometry.kernel.at[axis];
      const auto first = begin > 0 ? begin : 0,
                 last = end < geometry.size.at[axis] ? end : geometry.size.at[axis];
      elements *= inside ? last - first : geometry.kernel.at[axis];
    }
    return static_cast<float>(elements);
  }
};

struct AverageOfWindow {
  const float* data;
  Windows windows;
  Divisor divisor;
  float* output;

  template <class ThreadGroup>
  TENON_DEVICE void operator()(const ThreadGroup& threads, std::int64_t i) const {
    const auto window = PlanePoint::of(windows.all, i);
    const float* const plane = data + window.plane * Sliding::count(windows.geometry.size);
    float sum = 0;
    windows.each_element(window.point, threads.thread(), group_size<ThreadGroup>,
                         [&](std::int64_t at) { sum += plane[at]; });
    sum = threads.sum(sum);
    if (threads.thread() == 0) output[i] = sum / divisor.of(windows.geometry, window.point);
  }
};

/// Each element sums the gradients of the windows that contain it, in order. With `indices`, only
/// of those whose maximum it was.
struct ElementGradient {
  const float* dy;
  const std::int64_t* indices;
  Sliding geometry;
  Divisor divisor;
  float* dx;
  tenon::gpu::RowMajor elements;
  tenon::gpu::Divisor strides[3] = {};

  ElementGradient(const float* gradient, const std::int64_t* maximum, const Sliding& sliding,
                  Divisor divide, float* to, std::int64_t count)
      : dy(gradient),
        indices(maximum),
        geometry(sliding),
        divisor(divide),
        dx(to),
        elements(in_planes(count, geometry.size)) {
    for (int axis = 0; axis < 3; ++axis) {
      strides[axis] = tenon::gpu::Divisor(geometry.stride.at[axis]);
      if (geometry.size.at[axis] + geometry.pad.at[axis] > INT32_MAX) elements.count_in_int64();
    }
  }

  TENON_DEVICE void operator()(std::int64_t i) const {
    std::int64_t number = 0;
    Point element{}, first{}, last{};
    elements.each_coordinate(i, [&](int box_axis, auto at) {
      if (box_axis == 0) return void(number = at);
      const int axis = box_axis - 1;
      element.at[axis] = at;
      const auto padded = static_cast<decltype(at)>(at + geometry.pad.at[axis]);
      // the last position at which an element starts without reaching this one
      const auto passed = static_cast<decltype(at)>(padded - geometry.kernel.at[axis]);
      const std::int64_t end = strides[axis].divide(padded).quotient,
                         last_position = geometry.positions.at[axis] - 1;
      first.at[axis] = passed < 0 ? 0 : strides[axis].divide(passed).quotient + 1;
      last.at[axis] = end < last_position ? end : last_position;
    });
    const auto plane = number * Sliding::count(geometry.positions),
               own = Sliding::index(geometry.size, element);
    float sum = 0;
    Point window{};
    for (window.at[0] = first.at[0]; window.at[0] <= last.at[0]; ++window.at[0])
      for (window.at[1] = first.at[1]; window.at[1] <= last.at[1]; ++window.at[1])
        for (window.at[2] = first.at[2]; window.at[2] <= last.at[2]; ++window.at[2]) {
          const auto from = plane + Sliding::index(geometry.positions, window);
          if (!indices)
            sum += dy[from] / divisor.of(geometry, window);
          else if (indices[from] == own)
            sum += dy[from];
        }
    dx[i] = sum;
  }
};

}  // namespace pooling

/// The CUDA kernel of a pooling operator with pooling() and window(data).
template <class Operator>
struct PoolingCuda : Operator {
  static constexpr bool capturable = true;

  bool supports(const tenon::Infer& types) const {
    if constexpr (requires { this->column_major; })
      if (this->column_major) return false;
    const auto data = types.input(0);
    return data.dtype == tenon::f32 &&
           (!data.shape.has_rank() ||
            is_plain(this->window(data.shape), data.shape, types.output(0).shape));
  }

  /// For max pooling, the position of each window's maximum, which is searched again, so that
  /// forward stores nothing.
  std::size_t backward_workspace(const tenon::Infer& io) const {
    return this->pooling() == Pooling::max
               ? static_cast<std::size_t>(io.output(0).shape.size()) * sizeof(std::int64_t)
               : 0;
  }

  void forward(const tenon::Call& call) const {
    const auto data = call.input<float>(0);
    const auto shape = call.output_type(0).shape;
    const auto geometry = Sliding::of(this->window(data.shape()), data.shape(), shape);
    if (call.outputs() > 1 && call.write(1) != tenon::Write::none)
      each_window(call, geometry, shape.size(),
                  pooling::MaxOfWindow{data.data(),
                                       {geometry, shape.size()},
                                       nullptr,
                                       call.output<std::int64_t>(1).data(),
                                       true});
    if (call.write(0) == tenon::Write::none) return;
    const auto output = call.output<float>(0);
    if (this->pooling() == Pooling::max)
      each_window(
          call, geometry, output.size(),
          pooling::MaxOfWindow{data.data(), {geometry, output.size()}, output.data(), nullptr});
    else
      each_window(call, geometry, output.size(),
                  pooling::AverageOfWindow{
                      data.data(), {geometry, output.size()}, divisor(), output.data()});
  }

  void backward(const tenon::Call& call) const {
    if (call.write(0) == tenon::Write::none) return;
    const auto dy = call.output_grad<float>(0);
    const auto dx = call.input_grad<float>(0);
    const auto geometry = Sliding::of(this->window(dx.shape()), dx.shape(), dy.shape());
    std::int64_t* indices = nullptr;
    if (this->pooling() == Pooling::max) {
      indices = call.workspace<std::int64_t>(static_cast<std::size_t>(dy.size()));
      each_window(call, geometry, dy.size(),
                  pooling::MaxOfWindow{
                      call.input<float>(0).data(), {geometry, dy.size()}, nullptr, indices});
    }
    tenon::gpu::for_each(
        call, dx.size(),
        pooling::ElementGradient(dy.data(), indices, geometry, divisor(), dx.data(), dx.size()));
  }

 private:
  pooling::Divisor divisor() const { return pooling::Divisor{this->pooling() == Pooling::inside}; }

  template <class Body>
  static void each_window(const tenon::Call& call, const Sliding& geometry, std::int64_t windows,
                          const Body& body) {
    const auto taps = Sliding::count(geometry.kernel);
    for_each_group(call, windows, taps, taps <= 1024, body);
  }
};

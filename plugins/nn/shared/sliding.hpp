// A window's way over data, as device code reads it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <tenon/gpu/launch.hpp>

#include "window.hpp"

/// Three numbers, one for each spatial axis.
struct Point {
  std::int64_t at[3];
  friend bool operator==(const Point&, const Point&) = default;
};

/// Always three axes: those that are not there come first and have one element.
struct Sliding {
  Point size, places;  ///< elements of data, and places of the window
  Point kernel, stride, pad, dilate;
  friend bool operator==(const Sliding&, const Sliding&) = default;

  static Sliding of(const Window& window, const tenon::Shape& data, const tenon::Shape& output) {
    constexpr Point ones{{1, 1, 1}};
    Sliding made{ones, ones, ones, ones, {{0, 0, 0}}, ones};
    for (int i = 0; i < window.axes; ++i) {
      const int to = 3 - window.axes + i;
      const auto from = static_cast<std::size_t>(i);
      made.size.at[to] = data[i + 2];
      made.places.at[to] = output[i + 2];
      made.kernel.at[to] = window.kernel[from];
      made.stride.at[to] = window.stride[from];
      made.pad.at[to] = window.pad[from];
      made.dilate.at[to] = window.dilate[from];
    }
    return made;
  }

  /// How many points a box of this size has, and its i-th.
  TENON_FN static std::int64_t count(const Point& box) { return box.at[0] * box.at[1] * box.at[2]; }
  TENON_FN static Point point(const Point& box, std::int64_t i) {
    const auto row = i / box.at[2];
    return {{row / box.at[1], row % box.at[1], i % box.at[2]}};
  }
  TENON_FN static std::int64_t index(const Point& box, const Point& point) {
    return (point.at[0] * box.at[1] + point.at[1]) * box.at[2] + point.at[2];
  }

  /// Whether padding is the same on both sides of each axis, as far as anything reads it.
  bool symmetric() const {
    for (int axis = 0; axis < 3; ++axis) {
      const auto reach = dilate.at[axis] * (kernel.at[axis] - 1) + 1;
      if (size.at[axis] + 2 * pad.at[axis] < reach || (size.at[axis] + 2 * pad.at[axis] - reach) / stride.at[axis] + 1 != places.at[axis])
        return false;
    }
    return true;
  }

  /// The element of data under element `tap` of the kernel at `place`; below 0 where that is padding.
  TENON_DEVICE std::int64_t element(const Point& place, const Point& tap) const {
    Point point{};
    for (int axis = 0; axis < 3; ++axis) {
      const auto i = place.at[axis] * stride.at[axis] - pad.at[axis] + tap.at[axis] * dilate.at[axis];
      if (i < 0 || i >= size.at[axis]) return -1;
      point.at[axis] = i;
    }
    return index(size, point);
  }

  /// The place at which element `tap` of the kernel lies over `element`; below 0 where there is none.
  TENON_DEVICE std::int64_t place(const Point& element, const Point& tap) const {
    Point point{};
    for (int axis = 0; axis < 3; ++axis) {
      const auto distance = element.at[axis] + pad.at[axis] - tap.at[axis] * dilate.at[axis];
      if (distance < 0 || distance % stride.at[axis] != 0 || distance / stride.at[axis] >= places.at[axis]) return -1;
      point.at[axis] = distance / stride.at[axis];
    }
    return index(places, point);
  }
};

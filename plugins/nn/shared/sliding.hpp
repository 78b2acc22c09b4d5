// The geometry of a window that slides over data, for device code.
#pragma once
#include <cstddef>
#include <cstdint>
#include <tenon/gpu/launch.hpp>

#include "window.hpp"

/// One number for each of three spatial axes.
struct Point {
  std::int64_t at[3];
  friend bool operator==(const Point&, const Point&) = default;
};

/// Always three axes; missing ones come first and have size 1.
struct Sliding {
  Point size, positions;  ///< elements of data, and output positions
  Point kernel, stride, pad, dilate;
  friend bool operator==(const Sliding&, const Sliding&) = default;

  static Sliding of(const Window& window, const tenon::Shape& data, const tenon::Shape& output) {
    constexpr Point ones{{1, 1, 1}};
    Sliding made{ones, ones, ones, ones, {{0, 0, 0}}, ones};
    for (int i = 0; i < window.axes; ++i) {
      const int to = 3 - window.axes + i;
      const auto from = static_cast<std::size_t>(i);
      made.size.at[to] = data[i + 2];
      made.positions.at[to] = output[i + 2];
      made.kernel.at[to] = window.kernel[from];
      made.stride.at[to] = window.stride[from];
      made.pad.at[to] = window.pad[from];
      made.dilate.at[to] = window.dilate[from];
    }
    return made;
  }

  /// The number of points of a box, and its i-th point.
  TENON_FN static std::int64_t count(const Point& box) { return box.at[0] * box.at[1] * box.at[2]; }
  TENON_FN static Point point(const Point& box, std::int64_t i) {
    const auto row = i / box.at[2];
    return {{row / box.at[1], row % box.at[1], i % box.at[2]}};
  }
  TENON_FN static std::int64_t index(const Point& box, const Point& point) {
    return (point.at[0] * box.at[1] + point.at[1]) * box.at[2] + point.at[2];
  }

  /// Whether padding is the same on both sides of each axis, as far as it is read.
  bool symmetric() const {
    for (int axis = 0; axis < 3; ++axis) {
      const auto reach = dilate.at[axis] * (kernel.at[axis] - 1) + 1;
      if (size.at[axis] + 2 * pad.at[axis] < reach ||
          (size.at[axis] + 2 * pad.at[axis] - reach) / stride.at[axis] + 1 != positions.at[axis])
        return false;
    }
    return true;
  }

  /// Index in data of tap `tap` of the kernel at output position `position`; negative if that is
  /// padding.
  TENON_DEVICE std::int64_t element(const Point& position, const Point& tap) const {
    Point point{};
    for (int axis = 0; axis < 3; ++axis) {
      const auto i =
          position.at[axis] * stride.at[axis] - pad.at[axis] + tap.at[axis] * dilate.at[axis];
      if (i < 0 || i >= size.at[axis]) return -1;
      point.at[axis] = i;
    }
    return index(size, point);
  }

  /// The output position at which tap `tap` of the kernel covers `element`; negative if there is
  /// none.
  TENON_DEVICE std::int64_t output_index(const Point& element, const Point& tap) const {
    Point point{};
    for (int axis = 0; axis < 3; ++axis) {
      const auto distance = element.at[axis] + pad.at[axis] - tap.at[axis] * dilate.at[axis];
      if (distance < 0 || distance % stride.at[axis] != 0 ||
          distance / stride.at[axis] >= positions.at[axis])
        return -1;
      point.at[axis] = distance / stride.at[axis];
    }
    return index(positions, point);
  }
};

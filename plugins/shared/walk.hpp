// Elements in row-major order, and where each of them lies: shape arithmetic that goes to a device with a launch.
#pragma once
#include <cstdint>
#include <tenon/operator.hpp>

struct Walk {
  std::int64_t count = 1;
  int rank = 0;
  std::int64_t size[tenon::max_rank] = {}, stride[tenon::max_rank] = {};

  /// One more axis, within the others. Axes that lie behind each other become one.
  void push(std::int64_t axis_size, std::int64_t axis_stride) {
    count *= axis_size;
    if (axis_size == 1) return;
    if (rank > 0 && stride[rank - 1] == axis_stride * axis_size) {
      size[rank - 1] *= axis_size;
      stride[rank - 1] = axis_stride;
    } else {
      size[rank] = axis_size;
      stride[rank++] = axis_stride;
    }
  }

  TENON_FN std::int64_t offset(std::int64_t i) const {
    std::int64_t sum = 0;
    for (int axis = rank - 1; axis > 0; --axis) {
      const auto outer = i / size[axis];
      sum += (i - outer * size[axis]) * stride[axis];
      i = outer;
    }
    return rank > 0 ? sum + i * stride[0] : 0;
  }
};

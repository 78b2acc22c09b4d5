// The axes of an output for a gradient that is summed over some of them. Neighbouring axes of the
// same kind are merged.
#pragma once

#include <cstdint>

#include "../abi.h"
#include "../shape.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Innermost last. Retained axes (which the gradient has, too) and summed axes alternate.
struct Axes {
  int count = 0;
  std::int64_t size[max_rank];
  bool retained[max_rank];

  /// `input` must broadcast to `broadcast`.
  [[gnu::cold]] Axes(const tenon_dense& input, const tenon_dense& broadcast) {
    for (int axis = 0; axis < broadcast.ndim; ++axis) {
      const int own = axis - (broadcast.ndim - input.ndim);
      if (broadcast.shape[axis] != 1) add(broadcast.shape[axis], own >= 0 && input.shape[own] != 1);
    }
  }

  /// The innermost retained axis and the outermost summed axis; -1 if there is none.
  int last_retained() const {
    for (int axis = count - 1; axis >= 0; --axis)
      if (retained[axis]) return axis;
    return -1;
  }
  int first_summed() const {
    for (int axis = 0; axis < count; ++axis)
      if (!retained[axis]) return axis;
    return -1;
  }

 private:
  void add(std::int64_t dim, bool keep) {
    if (count > 0 && retained[count - 1] == keep) {
      size[count - 1] *= dim;
    } else {
      size[count] = dim;
      retained[count++] = keep;
    }
  }
};

/// A box in the space of the axes: a range on each axis.
struct Box {
  std::int64_t begin[max_rank], end[max_rank];

  explicit Box(const Axes& axes) {
    for (int axis = 0; axis < axes.count; ++axis) begin[axis] = 0, end[axis] = axes.size[axis];
  }
  void limit(int axis, std::int64_t from, std::int64_t to) { begin[axis] = from, end[axis] = to; }

  /// Calls run(position, n) for the maximal contiguous ranges of the box in row-major order.
  template <class Run>
  [[gnu::cold]] void for_each_run(const Axes& axes, Run run) const {
    std::int64_t length = 1, stride[max_rank], index[max_rank];
    for (int axis = axes.count - 1; axis >= 0; --axis) {
      stride[axis] = axis + 1 < axes.count ? stride[axis + 1] * axes.size[axis + 1] : 1;
      if (end[axis] <= begin[axis]) return;
    }
    int outer =
        axes.count;  // axes before this one are iterated, the others form one contiguous range
    while (outer > 0 && length == (outer < axes.count ? stride[outer] * axes.size[outer] : 1)) {
      --outer;
      length *= end[outer] - begin[outer];
    }
    std::int64_t position = 0;
    for (int axis = 0; axis < axes.count; ++axis)
      index[axis] = begin[axis], position += begin[axis] * stride[axis];
    for (int axis = 0; axis >= 0;) {
      run(position, length);
      for (axis = outer - 1; axis >= 0; --axis) {
        position += stride[axis];
        if (++index[axis] < end[axis]) break;
        position -= (end[axis] - begin[axis]) * stride[axis];
        index[axis] = begin[axis];
      }
    }
  }
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

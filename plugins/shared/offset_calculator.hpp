// Offsets of elements in row-major order: shape arithmetic that is passed to a kernel launch.
#pragma once
#include <cstdint>
#include <tenon/gpu/row_major.hpp>

struct OffsetCalculator {
  tenon::gpu::RowMajor points;
  std::int64_t stride[tenon::max_rank] = {};

  /// Adds an axis inside the others. Axes that are contiguous are merged.
  void push(std::int64_t axis_size, std::int64_t axis_stride) {
    if (axis_size == 1) return;
    const int rank = points.rank();
    rank > 0 && stride[rank - 1] == axis_stride* axis_size ? points.extend(axis_size)
                                                           : points.push(axis_size);
    stride[points.rank() - 1] = axis_stride;
    points.fit(stride);
  }

  TENON_FN std::int64_t count() const { return points.count(); }

  TENON_FN std::int64_t offset(std::int64_t i) const {
    std::int64_t sum[1] = {};
    points.add_offsets(sum, i, [&](int, int axis) { return stride[axis]; });
    return sum[0];
  }
};

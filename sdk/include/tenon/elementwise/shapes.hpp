// The shape of an output by numpy's broadcasting, with dimensions that may not be known yet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "../infer.hpp"
#include "../names.hpp"

namespace tenon {
namespace [[gnu::visibility("hidden")]] elementwise {

/// "left is [2, 3], right is [4]"
inline std::string shapes_of(const Infer& io, const detail::NameGroup& names) {
  std::string text;
  for (int i = 0; i < io.inputs(); ++i) text += join(i ? ", " : "", names.at(i, io.inputs()), " is ", io.input(i).shape);
  return text;
}

/// The shape that all inputs broadcast to: aligned at the last axis, sizes equal or 1. A dimension is unknown while it may be either. Of
/// unknown rank as soon as one input is. Error (type): sizes that do not fit, with all shapes.
inline Shape broadcast_shape(const Infer& io, const detail::NameGroup& names) {
  int rank = 0;
  for (int i = 0; i < io.inputs(); ++i) {
    const Shape shape = io.input(i).shape;
    if (!shape.has_rank()) return {};
    rank = std::max(rank, shape.rank());
  }
  Shape result = Shape::of_rank(rank);
  for (int axis = -1; axis >= -rank; --axis) {
    std::int64_t size = 1;
    bool open = false;
    for (int i = 0; i < io.inputs(); ++i) {
      const Shape shape = io.input(i).shape;
      const std::int64_t dim = shape.rank() < -axis ? 1 : shape[axis];
      open = open || dim == unknown;
      if (dim == unknown || dim == 1) continue;
      io.require(size == 1 || size == dim, shapes_of(io, names), ": sizes ", size, " and ", dim, " at axis ", axis,
                 " differ and neither is 1");
      size = dim;
    }
    result.set(axis, size == 1 && open ? unknown : size);
  }
  return result;
}

}  // namespace gnu::visibility("hidden")]]elementwise
}  // namespace tenon

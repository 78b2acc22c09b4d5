// Checks of parameters with axes or sizes; errors name the parameter.
#pragma once
#include <algorithm>
#include <bit>
#include <tenon/operator.hpp>

/// Returns the axis in [0, rank).
inline int axis_of(const tenon::Infer& io, std::int64_t axis, int rank,
                   const char* param = "axis") {
  if (axis < -rank || axis >= rank)
    io.param_error(param, "refers to axis ", axis, ", which is out of range for rank ", rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

/// Overload for an axis that infer() has checked.
inline int axis_of(std::int64_t axis, int rank) {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

/// Returns a bit mask of the axes.
template <class List>
unsigned axes_of(const tenon::Infer& io, const List& axes, int rank, const char* param = "axis") {
  unsigned mask = 0;
  for (const auto axis : axes) {
    const auto bit = 1u << axis_of(io, axis, rank, param);
    if (mask & bit) io.param_error(param, "refers to axis ", axis, " twice");
    mask |= bit;
  }
  return mask;
}

/// The shape from a parameter, or from the input that replaces it; -1 is an unknown size.
template <class List>
tenon::Shape shape_of(const tenon::Infer& io, const List& dims) {
  if (dims.size() > tenon::max_rank)
    io.param_error("shape", "has ", dims.size(), " dimensions, but tensors have at most ",
                   tenon::max_rank);
  std::int64_t product = 1;
  for (const auto dim : dims) {
    if (dim < tenon::unknown) io.param_error("shape", "has the invalid size ", dim);
    if (dim > 0 && __builtin_mul_overflow(product, dim, &product))
      io.param_error("shape", "has more elements than 64 bits can represent");
  }
  auto shape = tenon::Shape::of_rank(static_cast<int>(dims.size()));
  for (int a = 0; a < shape.rank(); ++a) shape.set(a, dims[static_cast<std::size_t>(a)]);
  return shape;
}

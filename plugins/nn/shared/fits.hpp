// Comparison of shapes with unknown sizes.
#pragma once
#include <tenon/operator.hpp>

/// Whether both can be the same shape.
inline bool fits(const tenon::Shape& left, const tenon::Shape& right) {
  if (!left.has_rank() || !right.has_rank()) return true;
  if (left.rank() != right.rank()) return false;
  for (int axis = 0; axis < left.rank(); ++axis)
    if (left[axis] != right[axis] && left[axis] != tenon::unknown && right[axis] != tenon::unknown)
      return false;
  return true;
}

// The shape of an output by numpy's broadcasting rules, with partly unknown dimensions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "../detail/names.hpp"
#include "../infer.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// "left is [2, 3], right is [4]"
[[gnu::cold]] inline std::string shapes_of(const Infer& io, const detail::NameGroup& names) {
  std::string text;
  for (int i = 0; i < io.inputs(); ++i)
    append_text(text, join(i ? ", " : "", names.at(i, io.inputs()), " is ", io.input(i).shape));
  return text;
}

/// Returns the size that all inputs broadcast to at an axis counted from the last (0). Unknown
/// while it may be 1 or more.
[[gnu::cold]] inline std::int64_t broadcast_size(const Infer& io, int from_last,
                                                 const detail::NameGroup& names) {
  std::int64_t size = 1;
  bool has_unknown = false;
  for (int i = 0; i < io.inputs(); ++i) {
    const tenon_type& type = io.raw().inputs[i];
    const std::int64_t dim = from_last < type.rank ? type.dims[type.rank - 1 - from_last] : 1;
    has_unknown = has_unknown || dim == unknown;
    if (dim == unknown || dim == 1) continue;
    if (size != 1 && size != dim)
      fail(ErrorKind::type, {shapes_of(io, names), ": sizes ", size, " and ", dim, " at axis ",
                             -1 - from_last, " differ and neither is 1"});
    size = dim;
  }
  return size == 1 && has_unknown ? unknown : size;
}

/// Returns the shape that all inputs broadcast to, as in numpy: aligned at the last axis, sizes
/// equal or 1. Its rank is unknown while an input's is. Error (type): incompatible sizes, with all
/// shapes.
[[gnu::cold]] inline Shape broadcast_shape(const Infer& io, const detail::NameGroup& names) {
  int rank = 0;
  for (int i = 0; i < io.inputs(); ++i) {
    const int own = io.raw().inputs[i].rank;
    if (own < 0) return {};
    rank = std::max(rank, own);
  }
  std::int64_t dims[max_rank];
  for (int axis = 0; axis < rank; ++axis) dims[axis] = broadcast_size(io, rank - 1 - axis, names);
  return Shape(dims, rank);
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

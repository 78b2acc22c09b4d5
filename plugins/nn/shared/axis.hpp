// A tensor viewed along one axis: element (outer, i, inner) has index (outer * length + i) *
// inner_size + inner.
#pragma once
#include <cstdint>
#include <tenon/operator.hpp>

struct Axis {
  std::int64_t outer = 1, length = 1, inner = 1;

  static Axis of(const tenon::Shape& shape, int axis) {
    if (axis < 0) axis += shape.rank();
    Axis along;
    along.length = shape[axis];
    for (int i = 0; i < axis; ++i) along.outer *= shape[i];
    for (int i = axis + 1; i < shape.rank(); ++i) along.inner *= shape[i];
    return along;
  }

  /// Number of runs of `length` elements; the elements of a run are `inner` apart.
  TENON_FN std::int64_t runs() const { return outer * inner; }
  TENON_FN std::int64_t start(std::int64_t run) const {
    return run / inner * length * inner + run % inner;
  }

  /// Number of runs per task that is worth a thread's time.
  std::int64_t grain() const { return length > 4096 ? 1 : 4096 / (length > 0 ? length : 1); }
};

/// Calls body(start) for each run along `axis`, on the host's threads.
template <class Body>
void for_each_run(const tenon::Call& call, const Axis& axis, Body&& body) {
  call.parallel_for(axis.runs(), axis.grain(), [&](std::int64_t begin, std::int64_t end) {
    for (auto run = begin; run < end; ++run) body(axis.start(run));
  });
}

/// Rejects an axis out of range for the shape.
inline void require_axis(const tenon::Infer& io, const tenon::Shape& shape, int axis) {
  io.require(shape.rank() > 0, "axis is ", axis, " but data is ", shape,
             ": needs at least one dimension");
  io.require(axis >= -shape.rank() && axis < shape.rank(), "axis is ", axis, " but data is ", shape,
             ": needs ", -shape.rank(), " to ", shape.rank() - 1);
}

// Jobs over tensors whose memory order of axes differs from their shape's, such as channels-last
// ones: reorders the axes by memory, so that neighbours are contiguous again.
#pragma once

#include <cstdint>

#include "../abi.h"
#include "../shape.hpp"
#include "../version.hpp"
#include "job.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Whether an axis has a smaller stride than a later one.
inline bool out_of_order(const tenon_dense& dense) {
  if (!dense.strides) return false;
  std::int64_t previous = INT64_MAX;
  for (int axis = 0; axis < dense.ndim; ++axis) {
    if (dense.shape[axis] == 1) continue;
    if (dense.strides[axis] > previous) return true;
    previous = dense.strides[axis];
  }
  return false;
}

/// A job and the tensor that its sources are broadcast to, with all axes in the memory order of
/// that tensor.
class OrderedJob {
 public:
  [[gnu::cold]] OrderedJob(const Job& original, const tenon_dense& broadcast)
      : job_(original), rank_(broadcast.ndim) {
    // Insertion sort by descending stride. std::stable_sort would take a tenth of a plugin's
    // compile time.
    for (int axis = 0; axis < rank_; ++axis) {
      int position = axis;
      for (; position > 0 && broadcast.strides[order_[position - 1]] < broadcast.strides[axis];
           --position)
        order_[position] = order_[position - 1];
      order_[position] = axis;
    }
    tenon_tensor tensor = *original.output;
    tensor.dense = broadcast;
    broadcast_.set(tensor, order_, rank_);
    output_.set(*original.output, order_, rank_);
    job_.output = &output_.tensor;
    for (int i = 0; i < job_.source_count; ++i) {
      if (!original.sources[i]) continue;
      sources_[i].set(*original.sources[i], order_, rank_);
      job_.sources[i] = &sources_[i].tensor;
    }
  }
  OrderedJob(const OrderedJob&) = delete;
  OrderedJob& operator=(const OrderedJob&) = delete;

  const Job& job() const { return job_; }
  const tenon_dense& broadcast() const { return broadcast_.tensor.dense; }

 private:
  struct Ordered {
    tenon_tensor tensor;
    std::int64_t shape[max_rank], strides[max_rank];

    /// Sets `from` with its axes in `order`; axes that it lacks have size 1.
    void set(const tenon_tensor& from, const int* order, int rank) {
      tensor = from;
      const tenon_dense& dense = from.dense;
      std::int64_t row_major[max_rank], next = 1;
      for (int axis = dense.ndim - 1; axis >= 0; --axis)
        row_major[axis] = next, next *= dense.shape[axis];
      for (int axis = 0; axis < rank; ++axis) {
        const int own = order[axis] - (rank - dense.ndim);
        shape[axis] = own < 0 ? 1 : dense.shape[own];
        strides[axis] = own < 0 ? 0 : dense.strides ? dense.strides[own] : row_major[own];
      }
      tensor.dense.ndim = rank;
      tensor.dense.shape = shape;
      tensor.dense.strides = strides;
    }
  };

  Job job_;
  int rank_, order_[max_rank];
  Ordered broadcast_, output_, sources_[max_sources];
};

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

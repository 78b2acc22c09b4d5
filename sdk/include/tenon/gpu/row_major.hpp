// Coordinates and offsets of elements in row-major order: how a kernel accesses tensors with
// strides.
#pragma once
#include <cmath>
#include <cstdint>

#include "../fn.hpp"
#include "../shape.hpp"
#include "../version.hpp"
#include "divisor.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// A box of at most max_rank axes, created on the host. It is trivially copyable, for bodies of
/// for_each(). It uses int32_t if the sizes allow it, because 64-bit division and multiplication
/// take a GPU many instructions.
///
/// Example: y = x for an x with strides.
///
///     struct Gather {
///       tenon::gpu::RowMajor points;
///       std::int64_t strides[tenon::max_rank];
///       const float* x;
///       float* y;
///       TENON_FN void operator()(std::int64_t i) const {
///         std::int64_t from[1] = {};
///         points.add_offsets(from, i, [&](int, int axis) { return strides[axis]; });
///         y[i] = x[from[0]];
///       }
///     };
///     for (const auto size : shape) body.points.push(size);
///     body.points.fit(body.strides);
class RowMajor {
 public:
  TENON_FN std::int64_t count() const { return count_; }
  TENON_FN int rank() const { return rank_; }
  TENON_FN std::int64_t size(int axis) const { return sizes_[axis]; }

  /// Adds an axis inside the others.
  void push(std::int64_t size) { resize(rank_++, size, size); }
  /// Multiplies the size of the innermost axis by `times`, to merge another axis that is contiguous
  /// with it in all operands.
  void extend(std::int64_t times) { resize(rank_ - 1, size(rank_ - 1) * times, times); }
  /// Accounts for the offsets that these strides give, one stride per axis. Call it after the last
  /// axis and before add_offsets().
  void fit(const std::int64_t* strides) {
    double furthest = 0;  // next to an empty axis, others may overflow integers
    for (int axis = 0; axis < rank_; ++axis)
      furthest +=
          static_cast<double>(size(axis) - 1) * std::abs(static_cast<double>(strides[axis]));
    if (furthest > INT32_MAX) count_in_int64();
  }
  /// For tests: computes in int64_t, as for large boxes.
  void count_in_int64() { wide_ = 1; }

  /// Calls take(axis, index) for each axis of point i, innermost first. The index is an int32_t, or
  /// an int64_t in large boxes.
  template <class Take>
  TENON_FN void each_coordinate(std::int64_t i, Take take) const {
    wide_ ? coordinates(i, take) : coordinates(static_cast<std::int32_t>(i), take);
  }

  /// The former name of each_coordinate().
  template <class Take>
  [[deprecated("use each_coordinate; until 0.4")]] TENON_FN void each_place(std::int64_t i,
                                                                            Take take) const {
    each_coordinate(i, take);
  }

  /// Adds to offsets[k], for each of n operands, the sum of the point's indices times stride(k,
  /// axis). Use one call for all operands: computing the indices takes longer than everything else.
  template <int n, class Stride>
  TENON_FN void add_offsets(std::int64_t (&offsets)[n], std::int64_t i, Stride stride) const {
    wide_ ? sum_offsets(offsets, i, stride)
          : sum_offsets(offsets, static_cast<std::int32_t>(i), stride);
  }

 private:
  void resize(int axis, std::int64_t size, std::int64_t times) {
    const Divisor divisor(size);
    sizes_[axis] = divisor.number_;
    multipliers_[axis] = divisor.multiplier_;
    shifts_[axis] = divisor.shift_;
    count_ *= times;
    if (count_ > INT32_MAX || size > INT32_MAX) count_in_int64();
  }

  TENON_FN Divisor divisor(int axis) const {
    Divisor made;
    made.number_ = sizes_[axis];
    made.multiplier_ = multipliers_[axis];
    made.shift_ = shifts_[axis];
    return made;
  }

  template <class Index, class Take>
  TENON_FN void coordinates(Index i, Take& take) const {
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // axes are few, and what is done with each may be long
#endif
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      const auto [outer, coordinate] = axis > 0 ? divisor(axis).divide(i) : Divided<Index>{0, i};
      take(axis, coordinate);
      i = outer;
    }
  }

  template <int n, class Index, class Stride>
  TENON_FN void sum_offsets(std::int64_t (&offsets)[n], Index i, Stride& stride) const {
    Index sums[n] = {};
    const auto add = [&](int axis, Index coordinate) {
      for (int k = 0; k < n; ++k) sums[k] += coordinate * static_cast<Index>(stride(k, axis));
    };
    coordinates(i, add);
    for (int k = 0; k < n; ++k) offsets[k] += sums[k];
  }

  std::int64_t count_ = 1;
  std::int32_t rank_ = 0, wide_ = 0;  // not bool: all bytes of a launch must be defined
  // Numbers, not divisors: g++ 12 cannot clear padding after an array of classes, and simulated
  // GPUs check a body for padding.
  std::int64_t sizes_[max_rank] = {};
  std::uint32_t multipliers_[max_rank] = {}, shifts_[max_rank] = {};
};

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop

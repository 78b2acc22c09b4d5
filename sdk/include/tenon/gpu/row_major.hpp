// Points of a box, numbered in row-major order, and where each of them lies: how a kernel finds elements of tensors with strides.
#pragma once
#include <cmath>
#include <cstdint>

#include "../fn.hpp"
#include "../shape.hpp"
#include "../version.hpp"
#include "divisor.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::gpu {

/// A box of at most max_rank axes, made on the host. It is trivially copyable, for bodies of for_each(). It counts in int32_t where that is
/// enough, for a GPU divides, and multiplies, 64 bits in many steps.
///
/// Example: y = x, where x has strides.
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

  /// One more axis, within the others.
  void push(std::int64_t size) { resize(rank_++, size, size); }
  /// Makes the innermost axis `times` as long, for another axis behind which it lies everywhere.
  void extend(std::int64_t times) { resize(rank_ - 1, size(rank_ - 1) * times, times); }
  /// Makes room for the offsets that these strides give, one for each axis. To call after the last axis, before add_offsets() is.
  void fit(const std::int64_t* strides) {
    double furthest = 0;  // beside an empty axis, others may be too long for integers
    for (int axis = 0; axis < rank_; ++axis) furthest += static_cast<double>(size(axis) - 1) * std::abs(static_cast<double>(strides[axis]));
    if (furthest > INT32_MAX) count_in_int64();
  }
  /// For tests: has everything counted in int64_t, as large boxes do.
  void count_in_int64() { wide_ = 1; }

  /// take(axis, place) for each axis of point i, the innermost first. `place` is an int32_t, or an int64_t in large boxes.
  template <class Take>
  TENON_FN void each_place(std::int64_t i, Take take) const {
    wide_ ? places(i, take) : places(static_cast<std::int32_t>(i), take);
  }

  /// Adds to offsets[k], for each of n operands, the sum of the point's places times stride(k, axis). One call for all operands: finding
  /// the places takes longer than all else.
  template <int n, class Stride>
  TENON_FN void add_offsets(std::int64_t (&offsets)[n], std::int64_t i, Stride stride) const {
    wide_ ? add_places(offsets, i, stride) : add_places(offsets, static_cast<std::int32_t>(i), stride);
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
  TENON_FN void places(Index i, Take& take) const {
#if defined(__CUDA_ARCH__)
#pragma unroll 1  // axes are few, and what is done with each may be long
#endif
    for (int axis = rank_ - 1; axis >= 0; --axis) {
      const auto [outer, place] = axis > 0 ? divisor(axis).divide(i) : Divided<Index>{0, i};
      take(axis, place);
      i = outer;
    }
  }

  template <int n, class Index, class Stride>
  TENON_FN void add_places(std::int64_t (&offsets)[n], Index i, Stride& stride) const {
    Index sums[n] = {};
    const auto add = [&](int axis, Index place) {
      for (int k = 0; k < n; ++k) sums[k] += place * static_cast<Index>(stride(k, axis));
    };
    places(i, add);
    for (int k = 0; k < n; ++k) offsets[k] += sums[k];
  }

  std::int64_t count_ = 1;
  std::int32_t rank_ = 0, wide_ = 0;  // no bool: all bytes of a launch are defined
  // Numbers, not divisors: g++ 12 cannot tell padding behind an array of classes, and simulated GPUs ask it what of a body is padding.
  std::int64_t sizes_[max_rank] = {};
  std::uint32_t multipliers_[max_rank] = {}, shifts_[max_rank] = {};
};

}  // namespace tenon::TENON_SDK::gpu
#pragma GCC visibility pop

// Offsets of a box's elements on both sides of a copy on a CUDA device, and the unit of the copy.
#pragma once
#include <cstdint>
#include <tenon/gpu/row_major.hpp>

/// One element, or several that are contiguous on both sides.
template <int bytes>
struct Unit;
template <>
struct Unit<1> {
  std::uint8_t bits;
};
template <>
struct Unit<2> {
  std::uint16_t bits;
};
template <>
struct Unit<4> {
  std::uint32_t bits;
};
template <>
struct Unit<8> {
  std::uint64_t bits;
};
template <>
struct alignas(16) Unit<16> {
  std::uint64_t low, high;
};

/// Strides in bytes.
struct BoxAxis {
  std::int64_t size, from, to;
};

class BoxWalk {
 public:
  /// Adds an axis inside of the others.
  void push(const BoxAxis& axis) {
    from_[points_.rank()] = axis.from;
    to_[points_.rank()] = axis.to;
    points_.push(axis.size);
    points_.fit(from_);
    points_.fit(to_);
  }
  std::int64_t count() const { return points_.count(); }

  /// Offsets of element i, in bytes. `tile`, for walks over tiles: the start along the two
  /// innermost axes, the last axis first.
  struct Offsets {
    std::int64_t from, to, tile[2];
  };
  template <int side = 0>
  TENON_FN Offsets at(std::int64_t i) const {
    const int last = points_.rank() - 1;
    std::int64_t offsets[side > 0 ? 4 : 2] = {};
    points_.add_offsets(offsets, i, [&](int k, int axis) {
      return k == 0   ? from_[axis]
             : k == 1 ? to_[axis]
                      : std::int64_t{last - axis == k - 2 ? side : 0};
    });
    if constexpr (side > 0) return {offsets[0], offsets[1], {offsets[2], offsets[3]}};
    return {offsets[0], offsets[1], {}};
  }

 private:
  tenon::gpu::RowMajor points_;
  std::int64_t from_[tenon::max_rank] = {}, to_[tenon::max_rank] = {};
};

// Where the elements of a box lie on both sides of a copy on a CUDA device, and what is moved at once.
#pragma once
#include <cstdint>
#include <tenon/operator.hpp>

/// One element, or several that lie side by side on both sides.
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

/// In bytes; the outermost axis first.
struct BoxWalk {
  struct Axis {
    std::int64_t size, from, to;
  };
  struct Offsets {
    std::int64_t from, to;
  };
  Axis axes[tenon::max_rank] = {};
  std::int64_t rank = 0;  // no padding: a launch carries defined bytes alone

  /// Of the i-th element.
  TENON_FN Offsets at(std::int64_t i) const {
    Offsets offsets{0, 0};
    for (auto a = rank - 1; a >= 0; --a) {
      const auto& axis = axes[a];
      const auto outer = a > 0 ? i / axis.size : 0, place = i - outer * axis.size;
      offsets.from += place * axis.from;
      offsets.to += place * axis.to;
      i = outer;
    }
    return offsets;
  }
};

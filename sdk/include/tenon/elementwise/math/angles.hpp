// sin and cos of a float of any size within 2 ulp, without branches and calls. The coefficients are
// minimax fits for the interval.
#pragma once

#include <cstdint>

#include "../../fn.hpp"
#include "../../select.hpp"
#include "../../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// x = quarters * pi/2 + rest, with |rest| slightly above pi/4 at most; only the last two bits of
/// quarters matter.
struct ReducedAngle {
  std::uint32_t quarters;
  float rest;
};

/// Selects one of five constants by the magnitude of an angle, with masks.
TENON_FN inline double by_size(float size, double first, double second, double third, double fourth,
                               double last) {
  using Bits = std::uint64_t;
  const auto difference = [](double left, double right) {
    return bits_as<Bits>(left) ^ bits_as<Bits>(right);
  };
  Bits bits = bits_as<Bits>(last);
  bits ^= difference(last, fourth) & (Bits(0) - Bits(size < 0x1p105f));
  bits ^= difference(fourth, third) & (Bits(0) - Bits(size < 0x1p80f));
  bits ^= difference(third, second) & (Bits(0) - Bits(size < 0x1p55f));
  bits ^= difference(second, first) & (Bits(0) - Bits(size < 0x1p30f));
  return bits_as<double>(bits);
}

/// Multiplies x by 2/pi, using only the bits that do not give multiples of 4 (Payne and Hanek): 29,
/// then 28, then 53 bits from the first one that matters at this magnitude. The first two products
/// are exact in double.
TENON_FN inline ReducedAngle reduce_angle(float x) {
  constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to nearest
  const float size = bits_as<float>(bits_as<std::uint32_t>(x) & 0x7fffffffu);
  const double angle = x;
  const double high = angle * by_size(size, 0x1.45f306dp-1, 0x1.7cc1b72p-7, 0x1.27220a9p-31,
                                      0x1.29fc275p-56, 0x1.5f47d4cp-82);
  const double middle = angle * by_size(size, 0x1.9391054p-30, 0x1.c882a5p-37, 0x1.3f84eacp-61,
                                        0x1.f47d4dp-86, 0x1.377036cp-110);
  const double low =
      angle * by_size(size, 0x1.4fe13abe8fa9ap-59, 0x1.fc2757d1f534cp-64, 0x1.d1f534ddc0db6p-88,
                      0x1.bb81b6c52b327p-113, 0x1.8a5664f10e41p-138);
  const double first = high + shift, middle_sum = (high - (first - shift)) + middle,
               second = middle_sum + shift;
  const double rest = (middle_sum - (second - shift)) + low;
  return {
      static_cast<std::uint32_t>(bits_as<std::uint64_t>(first) + bits_as<std::uint64_t>(second)),
      static_cast<float>(rest * 1.5707963267948966)};
}

/// sin(rest + quarters * pi/2)
TENON_FN inline float sine_of(ReducedAngle angle) {
  const float r = angle.rest, s = r * r;
  const float sine = r + r * (s * ((-1.95043176e-4f * s + 8.332083e-3f) * s - 1.66666538e-1f));
  const float cosine =
      (1.0f - 0.5f * s) + s * s * ((2.4423889e-5f * s - 1.38872431e-3f) * s + 4.16666456e-2f);
  const float result = select((angle.quarters & 1u) != 0, cosine, sine);
  return bits_as<float>(bits_as<std::uint32_t>(result) ^ (angle.quarters & 2u) << 30);
}

TENON_FN inline float vector_sin(float x) {
  return select(x == 0.0f, x, sine_of(reduce_angle(x)));  // -0 stays -0
}

TENON_FN inline float vector_cos(float x) {
  const ReducedAngle angle = reduce_angle(x);
  return sine_of({angle.quarters + 1u, angle.rest});
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

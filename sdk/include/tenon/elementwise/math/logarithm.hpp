// log and log1p of a float within 2 ulp, without branches and calls. The coefficients are a minimax
// fit for the interval.
#pragma once

#include <cstdint>

#include "../../fn.hpp"
#include "../../select.hpp"
#include "../../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// log(x * 2^shift) for a normal x > 0.
TENON_FN inline float scaled_logarithm(float x, std::int32_t shift) {
  // Subtracting the bits of sqrt(1/2) first moves the step of the exponent to sqrt(1/2), so that 1
  // + f is in [sqrt(1/2), sqrt(2)).
  const std::uint32_t bits = bits_as<std::uint32_t>(x) - 0x3f3504f3u;
  const float n = static_cast<float>((static_cast<std::int32_t>(bits) >> 23) + shift);
  const float f = bits_as<float>((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  float tail = -7.63449371e-2f * f + 1.27615750e-1f;
  tail = (tail * f - 1.31601825e-1f) * f + 1.42017588e-1f;
  tail = (tail * f - 1.66233569e-1f) * f + 2.00012267e-1f;
  tail = (tail * f - 2.50008196e-1f) * f + 3.33333313e-1f;
  return n * 0.693145752f +
         (f -
          (0.5f * f * f - (f * f * f * tail + n * 1.42860677e-6f)));  // ln 2 as a sum of two parts
}

/// Returns result if 0 < x < infinity, otherwise log(x): -infinity at 0, NaN below, and x itself
/// above.
TENON_FN inline float logarithm_outside(float x, float result) {
  const float edge = select(x == 0.0f, -bits_as<float>(0x7f800000u), bits_as<float>(0x7fc00000u));
  return select(x > 0.0f, select(x <= 3.40282347e38f, result, x), edge);
}

TENON_FN inline float vector_log(float x) {
  const bool denormal = x < 1.17549435e-38f;
  const float result =
      scaled_logarithm(select(denormal, x * 8388608.0f, x), select(denormal, -23, 0));
  return logarithm_outside(x, result);
}

TENON_FN inline float vector_log1p(float x) {
  const float sum = 1.0f + x;
  const float lost = (x - (sum - 1.0f)) / sum;  // the rounding error of the sum
  return select(x == 0.0f, x, logarithm_outside(sum, scaled_logarithm(sum, 0) + lost));
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

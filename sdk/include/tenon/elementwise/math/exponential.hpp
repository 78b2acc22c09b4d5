// exp, expm1 and tanh of a float within 2 units in the last place, free of branches and calls, so that loops over them become vector code
// (the C library's are one element at a time). Coefficients: minimax fits made for these intervals.
#pragma once

#include <cstdint>

#include "../../fn.hpp"
#include "../../select.hpp"
#include "../../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// x = steps * ln 2 + rest, |rest| <= ln(2)/2.
struct ReducedExponent {
  std::int32_t steps;
  float rest;
};

/// x must lie in [-256, 256]; NaN must have been replaced.
TENON_FN inline ReducedExponent reduce_exponent(float x) {
  const std::int32_t steps =
      static_cast<std::int32_t>(x * 1.44269504f + 512.5f) - 512;  // rounds to nearest: the cast cuts a positive number
  const float n = static_cast<float>(steps);
  return {steps, (x - n * 0.693145752f) - n * 1.42860677e-6f};  // ln 2 in two parts; n times the first is exact
}

/// 2^n for n in [-126, 127].
TENON_FN inline float power_of_two(std::int32_t n) {
  return bits_as<float>(static_cast<std::uint32_t>(n + 127) << 23);
}

/// (e^r - 1 - r) / r^2 for |r| <= ln(2)/2.
TENON_FN inline float exponential_tail(float r) {
  return (((1.39517197e-3f * r + 8.36959854e-3f) * r + 4.16661873e-2f) * r + 1.66665122e-1f) * r + 0.5f;
}

TENON_FN inline float vector_exp(float x) {
  float inside = select(x > -105.0f, x, -105.0f);  // below, the result is 0; NaN comes back at the end
  inside = select(inside < 89.0f, inside, 89.0f);  // above, infinity
  const auto [steps, rest] = reduce_exponent(inside);
  const float fraction = (rest + rest * rest * exponential_tail(rest)) + 1.0f;
  const std::int32_t half = steps >> 1;  // in two factors: neither leaves the range, and a denormal result is rounded once
  return select(x == x, fraction * power_of_two(half) * power_of_two(steps - half), x);
}

TENON_FN inline float vector_expm1(float x) {
  float inside = select(x > -18.0f, x, -18.0f);
  inside = select(inside < 89.0f, inside, 89.0f);
  const auto [steps, rest] = reduce_exponent(inside);
  const float fraction = rest + rest * rest * exponential_tail(rest);
  const float scale = power_of_two(steps - 1);  // half of it, for 2^128 does not exist
  const float result = 2.0f * (fraction * scale + (scale - 0.5f));
  return select((x == x) & (x != 0.0f), result, x);  // -0 stays -0
}

TENON_FN inline float vector_tanh(float x) {
  const float magnitude = select(x < 0.0f, -x, x);
  const float large = 1.0f - 2.0f / (vector_exp(2.0f * magnitude) + 1.0f);
  const float s = x * x;
  const float tail = (((-5.66697726e-3f * s + 2.06061769e-2f) * s - 5.37300073e-2f) * s + 1.33313313e-1f) * s - 3.33332777e-1f;
  const float small = select(x == 0.0f, x, x + x * (s * tail));  // -0 stays -0
  return select(magnitude < 0.625f, small, select(x < 0.0f, -large, large));
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

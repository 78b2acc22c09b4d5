// exp, expm1 and tanh of a float within 2 ulp, without branches and calls, so that loops over them
// are vectorised (the C library computes one element at a time). The coefficients are minimax fits
// for the intervals.
#pragma once

#include <cstdint>

#include "../../fn.hpp"
#include "../../select.hpp"
#include "../../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// x = n * ln 2 + high - low, |high - low| <= ln(2)/2: high is exact, and the last bits of `bits`
/// are n + bias.
struct ReducedExponent {
  std::uint32_t bits;
  float high, low;
};

/// x must be in [-256, 256] or NaN, which gives NaN. Adding 1.5 * 2^23 rounds to nearest, because
/// floats of that magnitude are integers.
template <int bias>
TENON_FN inline ReducedExponent reduce_exponent(float x) {
  constexpr float shift = 12582912.0f + bias;
  const float shifted = x * 1.44269504f + shift, n = shifted - shift;
  return {bits_as<std::uint32_t>(shifted), x - n * 0.693145752f, n * 1.42860677e-6f};
}

/// (e^r - 1 - r) / r^2 for |r| <= ln(2)/2.
TENON_FN inline float exponential_tail(float r) {
  return (((1.39517197e-3f * r + 8.36959854e-3f) * r + 4.16661873e-2f) * r + 1.66665122e-1f) * r +
         0.5f;
}

/// e^(high - low) - 1
TENON_FN inline float exponential_fraction(ReducedExponent reduced) {
  const float r = reduced.high - reduced.low;
  return reduced.high + (r * r * exponential_tail(r) - reduced.low);
}

/// e^r within 1.01 ulp.
TENON_FN inline float exponential_of(float r) {
  return r + r * r * exponential_tail(r) + 1.0f;
}

/// The upper bound applies to n instead of x, because an integer minimum takes one instruction:
/// beyond it, r grows and the result is infinity.
TENON_FN inline float vector_exp(float x) {
  constexpr float shift = 12582912.0f + 254;
  constexpr std::uint32_t limit = bits_as<std::uint32_t>(shift + 128);
  const float inside = select(x < -105.0f, -105.0f, x);  // below this the result is 0
  const std::uint32_t shifted = bits_as<std::uint32_t>(inside * 1.44269504f + shift),
                      bits = shifted < limit ? shifted : limit;
  const float n = bits_as<float>(bits) - shift, r = inside - n * 0.693145752f - n * 1.42860677e-6f;
  // 2^n as a product of two factors: neither overflows, and a denormal result is rounded once.
  const std::uint32_t low = bits >> 1 << 23, high = (bits << 23) - low;
  return exponential_of(r) * bits_as<float>(low) * bits_as<float>(high);
}

/// e^x for x <= 0, with a fifth less work than vector_exp: 0 if the result would be denormal.
TENON_FN inline float vector_exp_below_zero(float x) {
  const bool vanishes = x < -87.3365402f;
  const ReducedExponent reduced = reduce_exponent<127>(select(vanishes, -87.3365402f, x));
  return select(vanishes, 0.0f,
                exponential_of(reduced.high - reduced.low) * bits_as<float>(reduced.bits << 23));
}

TENON_FN inline float vector_expm1(float x) {
  const float above = select(x < -18.0f, -18.0f, x);
  const float inside = select(above > 89.0f, 89.0f, above);
  const ReducedExponent reduced = reduce_exponent<126>(inside);
  const float scale =
      bits_as<float>(reduced.bits << 23);  // half of 2^n, because 2^128 is not a float
  const float result = 2.0f * (exponential_fraction(reduced) * scale + (scale - 0.5f));
  return select(x * x >= 0x1p-50f, result,
                x);  // below this, and for NaN, the result is x: preserves -0 and denormals
}

TENON_FN inline float vector_tanh(float x) {
  const std::uint32_t sign = bits_as<std::uint32_t>(x) & 0x80000000u;  // also for -0
  const float magnitude = bits_as<float>(bits_as<std::uint32_t>(x) ^ sign);
  const float e = vector_exp_below_zero(-2.0f * magnitude);
  const float large = (1.0f - e) / (1.0f + e);
  const float s = x * x;
  const float tail =
      (((-5.66697726e-3f * s + 2.06061769e-2f) * s - 5.37300073e-2f) * s + 1.33313313e-1f) * s -
      3.33332777e-1f;
  const float result = select(magnitude < 0.625f, magnitude + magnitude * (s * tail), large);
  return bits_as<float>(bits_as<std::uint32_t>(result) | sign);
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

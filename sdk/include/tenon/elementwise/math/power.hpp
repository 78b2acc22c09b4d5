// pow of a float within 1 ulp, without branches and calls: logarithm and exponential in double. The
// coefficients are minimax fits for the intervals.
#pragma once

#include <cstdint>

#include "../../fn.hpp"
#include "../../select.hpp"
#include "../../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// 2^t within 2^-28, for t in [-1000, 1000] or NaN.
TENON_FN inline double exp2_for_float(double t) {
  constexpr double shift =
      6755399441055744.0 + 1023;  // 1.5 * 2^52: rounds to nearest, and the last bits are n + 1023
  const double shifted = t + shift, f = t - (shifted - shift);
  double power = 0.00015344886398537298 * f + 0.0013400991609710971;
  power = (power * f + 0.0096185005863443033) * f + 0.055503261402877493;
  power = (power * f + 0.24022646704861556) * f + 0.69314720695532983;
  power = power * f + 1.0000000005904648;
  return power * bits_as<double>(bits_as<std::uint64_t>(shifted) << 52);
}

/// log2(x) with a relative error of 2^-37, for a normal x > 0.
TENON_FN inline double log2_for_float(double x) {
  // The exponent steps at sqrt(1/2): x = 2^n * m with m in [sqrt(1/2), sqrt(2)).
  constexpr std::uint64_t half_root = 0x3fe6a09e667f3bcdu;
  const std::uint64_t biased = bits_as<std::uint64_t>(x) - half_root + (std::uint64_t(1023) << 52);
  const double n =
      bits_as<double>(biased >> 52 | std::uint64_t(0x433) << 52) - (4503599627370496.0 + 1023);
  const double m = bits_as<double>((biased & 0x000fffffffffffffu) + half_root);
  const double f = (m - 1.0) / (m + 1.0), s = f * f;  // log2(m) is 2 atanh(f) / ln 2
  double sum = 0.34076999770867217 * s + 0.41167066114100642;
  sum = (sum * s + 0.57708361746926007) * s + 0.96179667318199513;
  return n + f * (sum * s + 2.8853900817902036);
}

TENON_FN inline float vector_pow(float base, float exponent) {
  const float magnitude = bits_as<float>(bits_as<std::uint32_t>(base) & 0x7fffffffu);
  const float size = bits_as<float>(bits_as<std::uint32_t>(exponent) & 0x7fffffffu);
  constexpr float infinity = __builtin_inff();
  const double wide = magnitude;
  const double finite = select(magnitude < infinity, log2_for_float(wide), wide);
  const double logarithm = select(magnitude == 0.0f, -static_cast<double>(infinity), finite);
  const double product = exponent * logarithm;
  const auto rounded =
      static_cast<float>(product);  // SSE2 compares doubles but lacks masks of such comparisons
  const double inside = select(rounded < -160.0f, -160.0, select(rounded > 130.0f, 130.0, product));
  const auto power = static_cast<float>(exp2_for_float(inside));
  const bool one = (exponent == 0.0f) | (base == 1.0f) | ((magnitude == 1.0f) & (size == infinity));

  // From 2^24 on every float is an even integer.
  const float small = select(size < 16777216.0f, exponent, 0.0f);
  const auto whole = static_cast<std::int32_t>(small);
  const bool undefined =
      (base < 0.0f) & (magnitude < infinity) & (static_cast<float>(whole) != small);
  const std::uint32_t sign = bits_as<std::uint32_t>(base) & static_cast<std::uint32_t>(whole) << 31;
  const bool negative = static_cast<float>(whole) == small;
  const float signed_power =
      bits_as<float>(bits_as<std::uint32_t>(select(one, 1.0f, power)) ^ select(negative, sign, 0u));
  return select(undefined, __builtin_nanf(""), signed_power);
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

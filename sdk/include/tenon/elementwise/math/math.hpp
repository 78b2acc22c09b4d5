// The functions of elementwise operators for plain numbers. Those of float come from here where the C library's would keep a loop scalar;
// device code and double use the platform's.
#pragma once

#include <cmath>
#include <type_traits>

#include "../../fn.hpp"
#include "../../select.hpp"
#include "../../version.hpp"
#include "error_function.hpp"
#include "exponential.hpp"
#include "logarithm.hpp"
#include "rounding.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

using std::cos;
using std::cosh;
using std::sin;
using std::sinh;
using std::sqrt;
using std::tan;

#if defined(__CUDA_ARCH__)
using std::ceil;
using std::erf;
using std::exp;
using std::expm1;
using std::floor;
using std::log;
using std::log1p;
using std::tanh;
#else
TENON_FN inline float exp(float x) {
  return vector_exp(x);
}
TENON_FN inline double exp(double x) {
  return std::exp(x);
}
TENON_FN inline float expm1(float x) {
  return vector_expm1(x);
}
TENON_FN inline double expm1(double x) {
  return std::expm1(x);
}
TENON_FN inline float log(float x) {
  return vector_log(x);
}
TENON_FN inline double log(double x) {
  return std::log(x);
}
TENON_FN inline float log1p(float x) {
  return vector_log1p(x);
}
TENON_FN inline double log1p(double x) {
  return std::log1p(x);
}
TENON_FN inline float tanh(float x) {
  return vector_tanh(x);
}
TENON_FN inline double tanh(double x) {
  return std::tanh(x);
}
TENON_FN inline float erf(float x) {
  return vector_erf(x);
}
TENON_FN inline double erf(double x) {
  return std::erf(x);
}
TENON_FN inline float floor(float x) {
  return vector_floor(x);
}
TENON_FN inline double floor(double x) {
  return std::floor(x);
}
TENON_FN inline float ceil(float x) {
  return vector_ceil(x);
}
TENON_FN inline double ceil(double x) {
  return std::ceil(x);
}
#endif

template <class Whole>
requires std::is_integral_v<Whole> TENON_FN constexpr Whole floor(Whole x) {
  return x;
}
template <class Whole>
requires std::is_integral_v<Whole> TENON_FN constexpr Whole ceil(Whole x) {
  return x;
}

/// The absolute value; of the lowest signed number it is that number, as in two's complement.
template <class Number>
requires std::is_arithmetic_v<Number> TENON_FN Number abs(Number x) {
  if constexpr (std::is_floating_point_v<Number>) {
    return std::fabs(x);
  } else if constexpr (std::is_signed_v<Number>) {
    using Bits = std::make_unsigned_t<Number>;
    return static_cast<Number>(x < 0 ? static_cast<Bits>(Bits(0) - static_cast<Bits>(x)) : static_cast<Bits>(x));
  } else {
    return x;
  }
}

/// NaN if either is NaN, as numpy's minimum and maximum. Equal: the right one.
template <class Number>
requires std::is_arithmetic_v<Number> TENON_FN constexpr Number min(Number left, Number right) {
  return select((left < right) | (left != left), left, right);
}
template <class Number>
requires std::is_arithmetic_v<Number> TENON_FN constexpr Number max(Number left, Number right) {
  return select((left > right) | (left != left), left, right);
}

TENON_FN inline float pow(float base, float exponent) {
  return std::pow(base, exponent);
}
TENON_FN inline double pow(double base, double exponent) {
  return std::pow(base, exponent);
}

/// Exact modulo 2^bits. A negative exponent gives 0, but for bases 1 and -1.
template <class Whole>
requires std::is_integral_v<Whole> TENON_FN constexpr Whole pow(Whole base, Whole exponent) {
  if constexpr (std::is_signed_v<Whole>) {
    if (exponent < 0) return static_cast<Whole>(base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0);
  }
  std::uint64_t result = 1;
  for (std::uint64_t square = static_cast<std::make_unsigned_t<Whole>>(base); exponent > 0;
       exponent = static_cast<Whole>(exponent / 2), square *= square)
    if (exponent % 2) result *= square;
  return static_cast<Whole>(result);
}

template <class Number>
requires std::is_arithmetic_v<Number> TENON_FN constexpr Number where(bool condition, Number yes, Number no) {
  return select(condition, yes, no);
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

// The functions of elementwise operators for plain numbers. Those of float are implemented here if
// the C library's would prevent vectorisation; device code and double use the platform's. Authors
// call them as members of tenon::Elementwise (functions.hpp), which converts half, bfloat16 and
// integers first; dual_math.hpp has the same functions with derivatives.
//
//     function                          float on the CPU                            double, and all
//                                       on a device
//     tan, sinh, cosh, sqrt             the C library                               the platform's
//     asin, acos, atan, asinh,          the C library                               the platform's
//     acosh, atanh
//     exp, expm1, log, log1p, tanh      within 2 ulp                                the platform's
//     erf, sin, cos, pow, normal_cdf    the same                                    the platform's
//     floor, ceil, rint, abs            exact                                       exact
//
// Special values are those of C: exp overflows to infinity and underflows to 0; log(0) is
// -infinity, and NaN below 0; pow(x, 0) is 1; asin and acos beyond 1, acosh below 1 and atanh
// beyond 1 are NaN; atanh(1) is infinity; rint rounds halves to even.
//
// No function throws, and all are thread-safe. NaN gives NaN, except in pow. The float functions of
// this table give the same bits on every CPU and at every vector level: they multiply and add in
// the written order. Those of the C library are as accurate as its manual states, and loops over
// them are not vectorised.
//
// Example: a function outside of the class that operator() calls, for numbers and duals.
//
//     template <class T>
//     TENON_FN T softplus(T x) {
//       using Math = tenon::Elementwise;
//       return Math::max(x, T(0)) + Math::log1p(Math::exp(-Math::abs(x)));
//     }
#pragma once

#include <cmath>
#include <type_traits>

#include "../../fn.hpp"
#include "../../select.hpp"
#include "../../version.hpp"
#include "angles.hpp"
#include "device_functions.hpp"
#include "error_function.hpp"
#include "exponential.hpp"
#include "logarithm.hpp"
#include "normal.hpp"
#include "power.hpp"
#include "rounding.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

// For float and double. sqrt is correctly rounded and NaN below 0. Angles are in radians; tan of an
// infinity is NaN. sinh and cosh overflow to infinity for |x| above about 89.4 in float and 710.5
// in double. asin and acos are NaN outside [-1, 1], acosh below 1, and atanh outside [-1, 1]; atanh
// is infinite at -1 and 1.
using std::acos;
using std::acosh;
using std::asin;
using std::asinh;
using std::atan;
using std::atanh;
using std::cosh;
using std::sinh;
using std::sqrt;
using std::tan;

#if !defined(__CUDA_ARCH__)
/// e^x. Float: infinity above 88.72, 0 below -103.97; denormal results in between are rounded once.
/// Double: infinity above 709.78, 0 below -745.13.
///
/// Example: a logistic function that does not overflow for large negative arguments.
///
///     e = exp(-abs(x));
///     y = where(x < 0.0f, e, 1.0f) / (1.0f + e);
TENON_FN inline float exp(float x) {
  return vector_exp(x);
}
TENON_FN inline double exp(double x) {
  return std::exp(x);
}
/// e^x - 1 with full relative precision near 0: expm1(1e-10) is 1e-10. -1 at -infinity, -0 at -0.
TENON_FN inline float expm1(float x) {
  return vector_expm1(x);
}
TENON_FN inline double expm1(double x) {
  return std::expm1(x);
}
/// Natural logarithm: -infinity at 0 and -0, NaN below; denormal arguments are as accurate as
/// others.
TENON_FN inline float log(float x) {
  return vector_log(x);
}
TENON_FN inline double log(double x) {
  return std::log(x);
}
/// log(1 + x) with full relative precision near 0. -infinity at -1, NaN below, -0 at -0.
TENON_FN inline float log1p(float x) {
  return vector_log1p(x);
}
TENON_FN inline double log1p(double x) {
  return std::log1p(x);
}
/// Hyperbolic tangent, from -1 to 1, which a float result reaches near |x| = 9; -0 at -0.
TENON_FN inline float tanh(float x) {
  return vector_tanh(x);
}
TENON_FN inline double tanh(double x) {
  return std::tanh(x);
}
/// Error function, from -1 to 1, which a float result reaches near |x| = 4; -0 at -0.
TENON_FN inline float erf(float x) {
  return vector_erf(x);
}
TENON_FN inline double erf(double x) {
  return std::erf(x);
}
/// Standard normal CDF: (1 + erf(x / sqrt(2))) / 2, with full relative precision in the lower tail,
/// too.
TENON_FN inline float normal_cdf(float x) {
  return vector_normal_cdf(x);
}
TENON_FN inline double normal_cdf(double x) {
  return 0.5 * std::erfc(-0.70710678118654752 * x);
}
/// Sine of angles in radians, of any magnitude: sin(1e30f) is accurate, too. NaN for infinities;
/// sin(-0) is -0.
TENON_FN inline float sin(float x) {
  return vector_sin(x);
}
TENON_FN inline double sin(double x) {
  return std::sin(x);
}
TENON_FN inline float cos(float x) {
  return vector_cos(x);
}
TENON_FN inline double cos(double x) {
  return std::cos(x);
}
/// pow(x, 0) is 1 for every x, including NaN, and so is pow(1, x); NaN for a negative base with a
/// fractional exponent; infinity for base 0 with a negative exponent; otherwise as in C. For
/// squares, x * x is faster: this is a logarithm and an exponential in double.
TENON_FN inline float pow(float base, float exponent) {
  return vector_pow(base, exponent);
}
TENON_FN inline double pow(double base, double exponent) {
  return std::pow(base, exponent);
}
/// The largest integer not above x. Infinities, NaN and -0 are returned unchanged.
TENON_FN inline float floor(float x) {
  return vector_floor(x);
}
TENON_FN inline double floor(double x) {
  return std::floor(x);
}
/// The smallest integer not below x; -0 for x in (-1, 0).
TENON_FN inline float ceil(float x) {
  return vector_ceil(x);
}
TENON_FN inline double ceil(double x) {
  return std::ceil(x);
}
/// The nearest integer, halves to even: rint(2.5f) is 2. Infinities, NaN and zeros are returned
/// unchanged.
TENON_FN inline float rint(float x) {
  return vector_rint(x);
}
TENON_FN inline double rint(double x) {
  return std::rint(x);
}
#endif

/// floor, ceil and rint return integers unchanged, without a conversion to double, which cannot
/// represent all int64.
template <class Whole>
requires std::is_integral_v<Whole> TENON_FN constexpr Whole floor(Whole x) {
  return x;
}
template <class Whole>
requires std::is_integral_v<Whole> TENON_FN constexpr Whole ceil(Whole x) {
  return x;
}
template <class Whole>
requires std::is_integral_v<Whole> TENON_FN constexpr Whole rint(Whole x) {
  return x;
}

/// The absolute value, 0 for -0. The smallest signed integer has no positive counterpart and is
/// returned unchanged, as in two's complement; unsigned numbers and bool are returned unchanged.
template <class Number>
requires std::is_arithmetic_v<Number> TENON_FN Number abs(Number x) {
  if constexpr (std::is_floating_point_v<Number>) {
    return std::fabs(x);
  } else if constexpr (std::is_signed_v<Number>) {
    using Bits = std::make_unsigned_t<Number>;
    return static_cast<Number>(x < 0 ? static_cast<Bits>(Bits(0) - static_cast<Bits>(x))
                                     : static_cast<Bits>(x));
  } else {
    return x;
  }
}

/// IEEE 754's minimum and maximum: NaN if either is NaN, as in numpy and unlike std::fmin, and -0
/// is below +0 in either order. Both arguments have one type; functions.hpp converts others to
/// their common type.
///
/// Equal numbers differ at most in their sign bit, so the bitwise OR of both is the smaller one,
/// and the bitwise AND the larger one. Integers have a single zero and do not need this.
///
/// Example: clamping between two bounds; NaN stays NaN.
///
///     y = min(max(x, low), high);
template <class Number>
requires std::is_arithmetic_v<Number> TENON_FN constexpr Number min(Number left, Number right) {
  const Number of_numbers = left < right ? left : right;  // one instruction; right if either is NaN
  const Number smaller = left != left ? left : of_numbers;
  if constexpr (std::is_floating_point_v<Number> && sizeof(Number) <= 8) {
    using Bits = std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>;
    return select(left == right, bits_as<Number>(Bits(bits_as<Bits>(left) | bits_as<Bits>(right))),
                  smaller);
  } else {
    return smaller;
  }
}
template <class Number>
requires std::is_arithmetic_v<Number> TENON_FN constexpr Number max(Number left, Number right) {
  const Number of_numbers = left > right ? left : right;  // one instruction; right if either is NaN
  const Number larger = left != left ? left : of_numbers;
  if constexpr (std::is_floating_point_v<Number> && sizeof(Number) <= 8) {
    using Bits = std::conditional_t<sizeof(Number) == 4, std::uint32_t, std::uint64_t>;
    return select(left == right, bits_as<Number>(Bits(bits_as<Bits>(left) & bits_as<Bits>(right))),
                  larger);
  } else {
    return larger;
  }
}

/// pow of integers, by repeated squaring: at most 64 steps. Exact modulo 2^bits, so 2^8 is 0 in
/// uint8. A negative exponent gives 0, also for base 0, except for the bases 1 and -1, whose powers
/// are integers. Overflow is defined: the products are unsigned. Example: pow(3, 4) is 81, pow(2,
/// -1) is 0, pow(-1, -3) is -1.
template <class Whole>
requires std::is_integral_v<Whole> TENON_FN constexpr Whole pow(Whole base, Whole exponent) {
  if constexpr (std::is_signed_v<Whole>) {
    if (exponent < 0)
      return static_cast<Whole>(base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0);
  }
  std::uint64_t result = 1;
  for (std::uint64_t square = static_cast<std::make_unsigned_t<Whole>>(base); exponent > 0;
       exponent = static_cast<Whole>(exponent / 2), square *= square)
    if (exponent % 2) result *= square;
  return static_cast<Whole>(result);
}

/// condition ? yes : no, as a select instruction instead of a branch, so that loops are vectorised.
/// Both values are computed by the caller: where(x > 0, log(x), 0) computes the NaN for x < 0 and
/// drops it.
///
/// Example:
///
///     y = where(x < -30.0f, 0.0f, exp(x));
template <class Number>
requires std::is_arithmetic_v<Number> TENON_FN constexpr Number where(bool condition, Number yes,
                                                                      Number no) {
  return select(condition, yes, no);
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

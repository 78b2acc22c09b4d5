// Elementwise: the base class of operators that are one scalar function, with mathematical
// functions for it.
#pragma once

#include <type_traits>

#include "../../fn.hpp"
#include "../../half.hpp"
#include "../../operator.hpp"
#include "../../version.hpp"
#include "dual.hpp"
#include "dual_math.hpp"
#include "math.hpp"
#include "traced.hpp"
#include "underivable.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {
namespace elementwise {

/// The type in which a function of T is computed, and its result type: float for half and bfloat16,
/// otherwise T.
template <class T>
using Computed = std::conditional_t<is_half<T>, float, T>;

/// Like Computed, for functions with non-integer results: double for integers and bool.
template <class T>
using Real = std::conditional_t<std::is_integral_v<T>, double, Computed<T>>;

/// The common type of two arguments: C++'s common type, so int32 and float give float; the dual
/// type if either is dual.
template <class Left, class Right>
struct common_of : std::common_type<Left, Right> {};
template <class T, class Right>
struct common_of<Dual<T>, Right> {
  using type = Dual<T>;
};
template <class Left, class T>
struct common_of<Left, Dual<T>> {
  using type = Dual<T>;
};
template <class T>
struct common_of<Dual<T>, Dual<T>> {
  using type = Dual<T>;
};
/// Traced numbers have the same types as the kernel's: a float and a double give a double there,
/// too.
template <class T, class Right>
struct common_of<Traced<T>, Right> {
  using type = Traced<std::common_type_t<T, Right>>;
};
template <class Left, class T>
struct common_of<Left, Traced<T>> {
  using type = Traced<std::common_type_t<Left, T>>;
};
template <class T, class U>
struct common_of<Traced<T>, Traced<U>> {
  using type = Traced<std::common_type_t<T, U>>;
};
template <class Left, class Right>
using Common = typename common_of<Computed<Left>, Computed<Right>>::type;

}  // namespace elementwise

/// Base of operators that are fully defined by one scalar function:
///     template <class T> TENON_FN T operator()(T x) const      with as many T as describe() has
///                                                              inputs.
/// T is float, double, a dual number of these (for the derivative), or an integer type or bool if
/// op.types() allows them; half and bfloat16 are computed in float. If the result is bool or
/// another fixed type, the output has that dtype.
///
/// Example: an activation with a parameter, float slope = 0.01f.
///
///     template <class T>
///     TENON_FN T operator()(T x) const {
///       return where(x > T(0), x, T(slope) * expm1(x));
///     }
///
/// Call the members unqualified, as cos(x), in such a function: they work for every T and on both
/// devices. Integers are converted to double, except by abs, floor, ceil, rint, pow, min, max and
/// where. The float versions of exp, expm1, log, log1p, tanh, erf, normal_cdf, sin, cos and pow are
/// within 2 ulp, and loops over them are vectorised; the others and those of double are the
/// platform's. Arguments of two types are converted to their common type.
///
/// None of them throws. Outside its domain a function returns NaN, and NaN gives NaN, except that
/// pow(x, 0) and pow(1, x) are 1. Angles are in radians. The derivative of a constant is 0, even
/// where the function's derivative is infinite, as for sqrt at 0. Prefer `where` to `if` on values:
/// loops with branches are not vectorised.
struct Elementwise : Operator {
  // ---- exponentials and logarithms

  /// e^x: infinity above about 88.72 in float and 709.78 in double; 0 at -infinity.
  template <class T>
  TENON_FN static auto exp(T x) {
    return elementwise::exp(elementwise::Real<T>(x));
  }
  /// Use it for exp(x) - 1, which is inaccurate near 0. -1 at -infinity.
  template <class T>
  TENON_FN static auto expm1(T x) {  ///< e^x - 1, accurate near 0
    return elementwise::expm1(elementwise::Real<T>(x));
  }
  /// Natural logarithm: -infinity at 0, NaN below.
  template <class T>
  TENON_FN static auto log(T x) {
    return elementwise::log(elementwise::Real<T>(x));
  }
  /// Use it for log(1 + x), as in log1p(exp(-abs(x))). -infinity at -1, NaN below.
  template <class T>
  TENON_FN static auto log1p(T x) {  ///< log(1 + x), accurate near 0
    return elementwise::log1p(elementwise::Real<T>(x));
  }

  // ---- roots, angles and hyperbolic functions

  /// Square root; NaN below 0. Its derivative at 0 is infinite: add a small number to x, or define
  /// gradient(), if inputs may be 0.
  template <class T>
  TENON_FN static auto sqrt(T x) {
    return elementwise::sqrt(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto sin(T x) {
    return elementwise::sin(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto cos(T x) {
    return elementwise::cos(elementwise::Real<T>(x));
  }
  /// Tangent: large near the odd multiples of pi/2, but finite, because no floating-point number is
  /// exactly such a multiple.
  template <class T>
  TENON_FN static auto tan(T x) {
    return elementwise::tan(elementwise::Real<T>(x));
  }
  /// sinh and cosh overflow to infinity for |x| above about 89.4 in float and 710.5 in double.
  template <class T>
  TENON_FN static auto sinh(T x) {
    return elementwise::sinh(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto cosh(T x) {
    return elementwise::cosh(elementwise::Real<T>(x));
  }
  /// asin: the angle in [-pi/2, pi/2] whose sine is x; acos: the angle in [0, pi] whose cosine is
  /// x. NaN outside [-1, 1].
  template <class T>
  TENON_FN static auto asin(T x) {
    return elementwise::asin(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto acos(T x) {
    return elementwise::acos(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto atan(T x) {  ///< from -pi/2 to pi/2
    return elementwise::atan(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto asinh(T x) {
    return elementwise::asinh(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto acosh(T x) {  ///< 0 at 1, NaN below
    return elementwise::acosh(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto atanh(T x) {  ///< infinite at -1 and 1, NaN outside
    return elementwise::atanh(elementwise::Real<T>(x));
  }
  /// Hyperbolic tangent, from -1 at -infinity to 1 at infinity. The logistic function without
  /// overflow: 0.5 + 0.5 * tanh(0.5 * x).
  template <class T>
  TENON_FN static auto tanh(T x) {
    return elementwise::tanh(elementwise::Real<T>(x));
  }
  /// The error function, from -1 to 1.
  template <class T>
  TENON_FN static auto erf(T x) {
    return elementwise::erf(elementwise::Real<T>(x));
  }
  /// Standard normal CDF: from 0 to 1, accurate near 0, too. GELU: x * normal_cdf(x).
  template <class T>
  TENON_FN static auto normal_cdf(T x) {
    return elementwise::normal_cdf(elementwise::Real<T>(x));
  }

  // ---- rounding, powers, selection: for integers, these return integers

  /// Absolute value. The smallest signed integer has no positive counterpart and is returned
  /// unchanged.
  template <class T>
  TENON_FN static auto abs(T x) {  ///< derivative at 0: 0
    return elementwise::abs(elementwise::Computed<T>(x));
  }
  /// floor: the largest integer not above x; ceil: the smallest integer not below x. The result for
  /// a floating x is floating; an integer is returned unchanged.
  template <class T>
  TENON_FN static auto floor(T x) {  ///< derivative: 0
    return elementwise::floor(elementwise::Computed<T>(x));
  }
  template <class T>
  TENON_FN static auto ceil(T x) {  ///< derivative: 0
    return elementwise::ceil(elementwise::Computed<T>(x));
  }
  /// Rounds to the nearest integer, halves to even: rint(0.5) is 0 and rint(1.5) is 2.
  template <class T>
  TENON_FN static auto rint(T x) {  ///< derivative: 0
    return elementwise::rint(elementwise::Computed<T>(x));
  }
  /// base^exponent: 1 for an exponent of 0, NaN for a negative base with a fractional exponent. The
  /// derivative with respect to the exponent is NaN for a negative base and 0 for base 0. For
  /// squares, x * x is faster. For integers the result is exact modulo 2^bits; a negative exponent
  /// gives 0, except for bases 1 and -1.
  template <class Base, class Exponent>
  TENON_FN static auto pow(Base base, Exponent exponent) {
    using T = elementwise::Common<Base, Exponent>;
    return elementwise::pow(T(base), T(exponent));
  }
  /// NaN if either is NaN. For equal arguments the derivative is that of the right one: max(x, 0)
  /// has the derivative 0 at 0.
  ///
  /// Example: clamping with min(max(x, T(low)), T(high)).
  template <class Left, class Right>
  TENON_FN static auto min(Left left, Right right) {
    using T = elementwise::Common<Left, Right>;
    return elementwise::min(T(left), T(right));
  }
  template <class Left, class Right>
  TENON_FN static auto max(Left left, Right right) {
    using T = elementwise::Common<Left, Right>;
    return elementwise::max(T(left), T(right));
  }
  /// condition ? yes : no, without a branch: both are computed, and a derivative that is not
  /// selected may be anything, including NaN.
  template <class Yes, class No>
  TENON_FN static auto where(bool condition, Yes yes, No no) {
    using T = elementwise::Common<Yes, No>;
    return elementwise::where(condition, T(yes), T(no));
  }
  /// Called instead while the function is traced: the condition is then a recorded value, as x > 0
  /// is for a traced number x, and both results are kept. Combine conditions with | and &;
  /// converted to bool, a condition would be a branch:
  ///
  ///     where((x < low) | (x > high), low, x)
  template <class Yes, class No>
  TENON_FN static auto where(elementwise::Condition condition, Yes yes, No no) {
    using T = elementwise::Common<Yes, No>;
    return elementwise::where(condition, T(yes), T(no));
  }
};

/// Argument types of an author's gradient(): the operator's inputs, or its output. Only these
/// tensors are kept in memory for backward. Both convert to T, so gradient() computes with them as
/// with numbers; write T v = x to pass one to a function such as abs(). The result of gradient()
/// must include the output's gradient dy as a factor.
///
/// Example: y = tanh(x), whose derivative depends only on y.
///
///     template <class T>
///     TENON_FN T gradient(T dy, tenon::OutputOf<T> y) const {
///       return dy * (T(1) - y * y);
///     }
template <class T>
struct InputOf {
  T value;
  TENON_FN constexpr operator T() const { return value; }
};
template <class T>
struct OutputOf {
  T value;
  TENON_FN constexpr operator T() const { return value; }
};
/// The gradients of an operator's two inputs, which its gradient() returns: `return
/// tenon::Pair<T>{dy * right, dy * left};`
template <class T>
struct Pair {
  T left, right;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

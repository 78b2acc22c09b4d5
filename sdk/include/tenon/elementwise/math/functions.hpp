// Elementwise: the base class of operators that are one scalar function, with the mathematics such functions use.
#pragma once

#include <type_traits>

#include "../../fn.hpp"
#include "../../half.hpp"
#include "../../operator.hpp"
#include "../../version.hpp"
#include "dual.hpp"
#include "dual_math.hpp"
#include "math.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {
namespace elementwise {

/// What a function of T is computed in: half and bfloat16 in float.
template <class T>
using Computed = std::conditional_t<is_half<T>, float, T>;

/// The same for functions that leave the whole numbers: integers are taken as double.
template <class T>
using Real = std::conditional_t<std::is_integral_v<T>, double, Computed<T>>;

/// What two arguments are brought to: C++'s common type, or the dual of the two.
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
template <class Left, class Right>
using Common = typename common_of<Computed<Left>, Computed<Right>>::type;

}  // namespace elementwise

/// Base of operators whose whole semantics is one function of scalars:
///     template <class T> TENON_FN T operator()(T x) const      with as many T as describe() has inputs.
/// T is float, double, a dual number of these (for the derivative), or an integer type or bool where op.types() allows them; half and
/// bfloat16 are computed in float. A bool or another fixed type as the result gives an output of that dtype.
///
/// The members are found by a plain cos(x) in such a function, for every T and on both devices. Integers are taken as double, except by
/// abs, floor, ceil, pow, min, max and where. The float versions of exp, expm1, log, log1p, tanh and erf are within 2 units in the last
/// place; the others and those of double are the platform's. Arguments of two types are brought to their common type.
struct Elementwise : Operator {
  template <class T>
  TENON_FN static auto exp(T x) {
    return elementwise::exp(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto expm1(T x) {  ///< e^x - 1, exact near 0
    return elementwise::expm1(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto log(T x) {
    return elementwise::log(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto log1p(T x) {  ///< log(1 + x), exact near 0
    return elementwise::log1p(elementwise::Real<T>(x));
  }
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
  template <class T>
  TENON_FN static auto tan(T x) {
    return elementwise::tan(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto sinh(T x) {
    return elementwise::sinh(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto cosh(T x) {
    return elementwise::cosh(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto tanh(T x) {
    return elementwise::tanh(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto erf(T x) {
    return elementwise::erf(elementwise::Real<T>(x));
  }
  template <class T>
  TENON_FN static auto abs(T x) {  ///< derivative at 0: 0
    return elementwise::abs(elementwise::Computed<T>(x));
  }
  template <class T>
  TENON_FN static auto floor(T x) {  ///< derivative: 0
    return elementwise::floor(elementwise::Computed<T>(x));
  }
  template <class T>
  TENON_FN static auto ceil(T x) {  ///< derivative: 0
    return elementwise::ceil(elementwise::Computed<T>(x));
  }
  /// Of integers exact modulo 2^bits; a negative exponent then gives 0, but for bases 1 and -1.
  template <class Base, class Exponent>
  TENON_FN static auto pow(Base base, Exponent exponent) {
    using T = elementwise::Common<Base, Exponent>;
    return elementwise::pow(T(base), T(exponent));
  }
  /// NaN if either is. Of equal arguments the right one counts for the derivative: max(x, 0) has the derivative 0 at 0.
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
  /// condition ? yes : no, without a branch: both are computed, and a derivative that does not count may be anything, NaN too.
  template <class Yes, class No>
  TENON_FN static auto where(bool condition, Yes yes, No no) {
    using T = elementwise::Common<Yes, No>;
    return elementwise::where(condition, T(yes), T(no));
  }
};

/// What an author's gradient() reads, by the types of its arguments: the operator's inputs, or its output.
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
/// The gradients of an operator's two inputs.
template <class T>
struct Pair {
  T left, right;
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

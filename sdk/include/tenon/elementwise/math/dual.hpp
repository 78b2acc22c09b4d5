// Dual numbers: a value and its derivative, propagated through the same arithmetic. Evaluating f on
// Dual(x, 1) gives f(x) and f'(x): automatic differentiation in forward mode. Dual<Dual<T>> gives
// second derivatives.
#pragma once

#include <type_traits>

#include "../../fn.hpp"
#include "../../select.hpp"
#include "../../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

template <class T>
struct Dual;

template <class T>
TENON_FN constexpr bool is_zero(T x) {
  return x == T(0);
}
template <class T>
TENON_FN constexpr bool is_zero(Dual<T> x) {
  const bool value = is_zero(x.value), slope = is_zero(x.slope);
  return value & slope;
}

/// Returns slope * factor, but 0 for a slope of 0 whatever the factor: a constant has a zero
/// derivative even if the factor is infinite. If the slope is known to be 0, the compiler drops the
/// product.
template <class T>
TENON_FN constexpr T chain_rule(T slope, T factor) {
  return select(!is_zero(slope), slope * factor, T(0));
}

template <class T>
struct Dual {
  T value{}, slope{};

  constexpr Dual() = default;
  TENON_FN constexpr Dual(T value, T slope) : value(value), slope(slope) {}
  /// A constant. Implicit, so that literals and members mix with duals.
  template <class Constant>
  requires std::is_convertible_v<Constant, T> TENON_FN constexpr Dual(Constant constant)
      : value(static_cast<T>(constant)) {}

  template <class Number>
  requires std::is_arithmetic_v<Number> TENON_FN explicit constexpr operator Number() const {
    return static_cast<Number>(value);
  }

  TENON_FN friend constexpr Dual operator+(Dual x) { return x; }
  TENON_FN friend constexpr Dual operator-(Dual x) { return {-x.value, -x.slope}; }
  TENON_FN friend constexpr Dual operator+(Dual l, Dual r) {
    return {l.value + r.value, l.slope + r.slope};
  }
  TENON_FN friend constexpr Dual operator-(Dual l, Dual r) {
    return {l.value - r.value, l.slope - r.slope};
  }
  TENON_FN friend constexpr Dual operator*(Dual l, Dual r) {
    return {l.value * r.value, chain_rule(l.slope, r.value) + chain_rule(r.slope, l.value)};
  }
  TENON_FN friend constexpr Dual operator/(Dual l, Dual r) {
    const T quotient = l.value / r.value, top = l.slope - chain_rule(r.slope, quotient);
    return {quotient, select(!is_zero(top), top / r.value, T(0))};
  }
  TENON_FN constexpr Dual& operator+=(Dual x) { return *this = *this + x; }
  TENON_FN constexpr Dual& operator-=(Dual x) { return *this = *this - x; }
  TENON_FN constexpr Dual& operator*=(Dual x) { return *this = *this * x; }
  TENON_FN constexpr Dual& operator/=(Dual x) { return *this = *this / x; }

  // Compares only values. Written out, because loops over the defaulted <=> of floating-point
  // numbers are not vectorised.
  TENON_FN friend constexpr bool operator==(Dual l, Dual r) { return l.value == r.value; }
  TENON_FN friend constexpr bool operator!=(Dual l, Dual r) { return l.value != r.value; }
  TENON_FN friend constexpr bool operator<(Dual l, Dual r) { return l.value < r.value; }
  TENON_FN friend constexpr bool operator>(Dual l, Dual r) { return l.value > r.value; }
  TENON_FN friend constexpr bool operator<=(Dual l, Dual r) { return l.value <= r.value; }
  TENON_FN friend constexpr bool operator>=(Dual l, Dual r) { return l.value >= r.value; }
};

}  // namespace tenon::TENON_SDK::elementwise

namespace tenon::TENON_SDK {
using elementwise::Dual;
}
#pragma GCC visibility pop

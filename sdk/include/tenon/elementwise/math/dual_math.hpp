// The functions of math.hpp for dual numbers: each is the function of the value, and
// chain_rule(slope, derivative at the value).
#pragma once

#include "../../fn.hpp"
#include "../../select.hpp"
#include "../../version.hpp"
#include "dual.hpp"
#include "math.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

template <class T>
TENON_FN Dual<T> exp(Dual<T> x) {
  const T y = exp(x.value);
  return {y, chain_rule(x.slope, y)};
}
template <class T>
TENON_FN Dual<T> expm1(Dual<T> x) {
  return {expm1(x.value), chain_rule(x.slope, exp(x.value))};
}
template <class T>
TENON_FN Dual<T> log(Dual<T> x) {
  return {log(x.value), chain_rule(x.slope, T(1) / x.value)};
}
template <class T>
TENON_FN Dual<T> log1p(Dual<T> x) {
  return {log1p(x.value), chain_rule(x.slope, T(1) / (T(1) + x.value))};
}
template <class T>
TENON_FN Dual<T> sqrt(Dual<T> x) {
  const T y = sqrt(x.value);
  return {y, chain_rule(x.slope, T(0.5) / y)};
}
template <class T>
TENON_FN Dual<T> sin(Dual<T> x) {
  return {sin(x.value), chain_rule(x.slope, cos(x.value))};
}
template <class T>
TENON_FN Dual<T> cos(Dual<T> x) {
  return {cos(x.value), chain_rule(x.slope, -sin(x.value))};
}
template <class T>
TENON_FN Dual<T> tan(Dual<T> x) {
  const T y = tan(x.value);
  return {y, chain_rule(x.slope, T(1) + y * y)};
}
template <class T>
TENON_FN Dual<T> sinh(Dual<T> x) {
  return {sinh(x.value), chain_rule(x.slope, cosh(x.value))};
}
template <class T>
TENON_FN Dual<T> cosh(Dual<T> x) {
  return {cosh(x.value), chain_rule(x.slope, sinh(x.value))};
}
template <class T>
TENON_FN Dual<T> tanh(Dual<T> x) {
  const T y = tanh(x.value);
  return {y, chain_rule(x.slope, T(1) - y * y)};
}
template <class T>
TENON_FN Dual<T> asin(Dual<T> x) {
  return {asin(x.value), chain_rule(x.slope, T(1) / sqrt((T(1) - x.value) * (T(1) + x.value)))};
}
template <class T>
TENON_FN Dual<T> acos(Dual<T> x) {
  return {acos(x.value), chain_rule(x.slope, T(-1) / sqrt((T(1) - x.value) * (T(1) + x.value)))};
}
template <class T>
TENON_FN Dual<T> atan(Dual<T> x) {
  return {atan(x.value), chain_rule(x.slope, T(1) / (T(1) + x.value * x.value))};
}
template <class T>
TENON_FN Dual<T> asinh(Dual<T> x) {
  return {asinh(x.value), chain_rule(x.slope, T(1) / sqrt(T(1) + x.value * x.value))};
}
template <class T>
TENON_FN Dual<T> acosh(Dual<T> x) {
  return {acosh(x.value),
          chain_rule(x.slope, T(1) / (sqrt(x.value - T(1)) * sqrt(x.value + T(1))))};
}
template <class T>
TENON_FN Dual<T> atanh(Dual<T> x) {
  return {atanh(x.value), chain_rule(x.slope, T(1) / ((T(1) - x.value) * (T(1) + x.value)))};
}
template <class T>
TENON_FN Dual<T> erf(Dual<T> x) {
  return {erf(x.value),
          chain_rule(x.slope, T(1.1283791670955126) * exp(-x.value * x.value))};  // 2 / sqrt(pi)
}
template <class T>
TENON_FN Dual<T> normal_cdf(Dual<T> x) {
  return {normal_cdf(x.value),
          chain_rule(x.slope,
                     T(0.3989422804014327) * exp(T(-0.5) * x.value * x.value))};  // 1 / sqrt(2 pi)
}
template <class T>
TENON_FN Dual<T> floor(Dual<T> x) {
  return {floor(x.value), T(0)};
}
template <class T>
TENON_FN Dual<T> ceil(Dual<T> x) {
  return {ceil(x.value), T(0)};
}
template <class T>
TENON_FN Dual<T> rint(Dual<T> x) {
  return {rint(x.value), T(0)};
}

/// Where these functions have no derivative, they use a one-sided or central value: 0 for abs at 0,
/// and that of the chosen argument for min, max and where.
template <class T>
TENON_FN Dual<T> where(bool condition, Dual<T> yes, Dual<T> no) {
  return {where(condition, yes.value, no.value), where(condition, yes.slope, no.slope)};
}
template <class T>
TENON_FN Dual<T> abs(Dual<T> x) {
  const T sign = where(x.value > T(0), T(1), where(x.value < T(0), T(-1), T(0)));
  return {abs(x.value), chain_rule(x.slope, sign)};
}
template <class T>
TENON_FN Dual<T> min(Dual<T> left, Dual<T> right) {
  const bool less = left < right, nan = left != left;
  return where(less | nan, left, right);
}
template <class T>
TENON_FN Dual<T> max(Dual<T> left, Dual<T> right) {
  const bool greater = left > right, nan = left != left;
  return where(greater | nan, left, right);
}
template <class T>
TENON_FN Dual<T> pow(Dual<T> base, Dual<T> exponent) {
  const T y = pow(base.value, exponent.value);
  const T by_base = chain_rule(exponent.value, pow(base.value, exponent.value - T(1)));
  const T by_exponent = where(base.value == T(0), T(0), y * log(base.value));
  return {y, chain_rule(base.slope, by_base) + chain_rule(exponent.slope, by_exponent)};
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

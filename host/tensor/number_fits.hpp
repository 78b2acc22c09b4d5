// Conversion of numbers to a dtype.
#pragma once
#include <cmath>
#include <limits>
#include <tenon/dtype.hpp>
#include <tenon/half.hpp>
#include <type_traits>

namespace tenon {

/// Converts to dtype T, rounding once. For integers, the value must fit.
template <class T>
T number_as(double value) {
  static_assert(std::numeric_limits<float>::is_iec559,
                "a double too large for float must become infinite");
  if constexpr (is_complex<T>)
    return static_cast<decltype(T::re)>(value);
  else
    return static_cast<T>(value);
}

/// Whether dtype T can hold the number: integers its integral part; floating dtypes NaN,
/// infinities, and numbers that round to a finite one.
template <class T>
bool fits(double value) {
  if constexpr (std::is_integral_v<T>) {
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits), whole = std::trunc(value);
    return whole < end && whole >= (std::is_signed_v<T> ? -end : 0);
  } else if constexpr (is_complex<T>) {
    return fits<decltype(T::re)>(value);
  } else {
    return !std::isfinite(value) || std::isfinite(static_cast<double>(number_as<T>(value)));
  }
}

}  // namespace tenon

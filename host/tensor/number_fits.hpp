// Numbers on their way into a dtype.
#pragma once
#include <cmath>
#include <limits>
#include <tenon/dtype.hpp>
#include <tenon/half.hpp>
#include <type_traits>

namespace tenon {

/// Whether static_cast may convert it: what does not fit is undefined, not merely wrong. Integers take the whole part.
template <class T>
bool fits(double value) {
  if constexpr (std::is_integral_v<T>) {
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits), whole = std::trunc(value);
    return whole < end && whole >= (std::is_signed_v<T> ? -end : 0);
  } else {
    return sizeof(T) == sizeof(double) || std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max());
  }
}

/// A number that fits; the 16-bit floats are rounded from float.
template <class T>
T number_as(double value) {
  if constexpr (std::is_integral_v<T> || sizeof(T) >= sizeof(float))
    return static_cast<T>(value);
  else
    return static_cast<T>(static_cast<float>(value));
}

}  // namespace tenon

// Conversion of one number to another dtype, defined for every value.
#pragma once
#include <limits>
#include <tenon/fn.hpp>
#include <type_traits>

/// A floating value becomes an integer by rounding towards zero and stays within To's range; nan becomes 0.
template <class To>
TENON_FN constexpr To saturate(double value) {
  static_assert(std::is_integral_v<To>);
  // (double) max may be one above max, and then value >= it still means out of range
  constexpr auto lowest = static_cast<double>(std::numeric_limits<To>::lowest());
  constexpr auto highest = static_cast<double>(std::numeric_limits<To>::max());
  if (value != value) return To(0);
  if (value <= lowest) return std::numeric_limits<To>::lowest();
  if (value >= highest) return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

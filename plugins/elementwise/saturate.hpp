// Conversion of one number to another dtype, defined for every value.
#pragma once
#include <tenon/elementwise/convert.hpp>
#include <tenon/fn.hpp>
#include <type_traits>

/// A floating value becomes an integer by rounding towards zero and stays within To's range; nan becomes 0.
template <class To>
TENON_FN constexpr To saturate(double value) {
  static_assert(std::is_integral_v<To>);
  // (double) max may be one above max, and then value >= it still means out of range
  using tenon::elementwise::least, tenon::elementwise::most;
  if (value != value) return To(0);
  if (value <= static_cast<double>(least<To>)) return least<To>;
  if (value >= static_cast<double>(most<To>)) return most<To>;
  return static_cast<To>(value);
}

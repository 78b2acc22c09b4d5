// Conversion of a number to an integer type, defined for every value.
#pragma once
#include <tenon/elementwise/convert.hpp>
#include <tenon/fn.hpp>
#include <type_traits>

/// Rounds toward zero and clamps to To's range; nan becomes 0.
template <class To>
TENON_FN constexpr To saturate(double value) {
  static_assert(std::is_integral_v<To>);
  // static_cast<double>(most) may round up to most + 1; value >= it is out of range all the same
  using tenon::elementwise::min_value, tenon::elementwise::max_value;
  if (value != value) return To(0);
  if (value <= static_cast<double>(min_value<To>)) return min_value<To>;
  if (value >= static_cast<double>(max_value<To>)) return max_value<To>;
  return static_cast<To>(value);
}

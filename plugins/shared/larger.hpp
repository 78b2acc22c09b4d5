// Comparison for maxima and their indices.
#pragma once
#include <tenon/fn.hpp>

/// Whether `value` replaces the maximum so far. NaN counts as the largest value; the first of equal
/// values stays.
template <class T>
TENON_FN constexpr bool is_larger(T value, T than) {
  return !(value <= than) & (than == than);
}

// Which of two elements is the larger one.
#pragma once
#include <tenon/fn.hpp>

/// Whether value takes the place of the largest element before it. NaN counts as the largest, and the first of several stays.
template <class T>
TENON_FN constexpr bool is_larger(T value, T than) {
  return !(value <= than) & (than == than);
}

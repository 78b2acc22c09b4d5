// The maximum of a row and the sum of exp(x - maximum), which never overflows: for softmax,
// log_softmax and cross entropy.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "shared/store.hpp"

template <class T>
struct Exponentials {
  Wide<T> maximum, sum;

  TENON_FN Wide<T> probability(T x) const { return std::exp(Wide<T>(x) - maximum) / sum; }
  TENON_FN Wide<T> log_probability(T x) const { return Wide<T>(x) - maximum - std::log(sum); }
};

/// Smaller than every element; a variable, since device code cannot call the function.
template <class T>
inline constexpr Wide<T> below_all = -std::numeric_limits<Wide<T>>::infinity();

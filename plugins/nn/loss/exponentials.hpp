// What softmax, log_softmax and cross entropy need of one row: its largest element and the sum of exp(x - largest), which never overflows.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "shared/store.hpp"

template <class T>
struct Exponentials {
  Wide<T> largest, sum;

  TENON_FN Wide<T> share(T x) const { return std::exp(Wide<T>(x) - largest) / sum; }
  TENON_FN Wide<T> log_share(T x) const { return Wide<T>(x) - largest - std::log(sum); }
};

/// Below every element; a variable, which device code may use where it may not call the function.
template <class T>
inline constexpr Wide<T> below_all = -std::numeric_limits<Wide<T>>::infinity();

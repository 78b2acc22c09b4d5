// What softmax, log_softmax and cross entropy need of one row: its largest element and the sum of exp(x - largest), which never overflows.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "store.hpp"

template <class T>
struct Exponentials {
  Wide<T> largest = -std::numeric_limits<Wide<T>>::infinity();
  Wide<T> sum = 0;

  /// `length` elements, `step` apart.
  Exponentials(const T* x, std::int64_t length, std::int64_t step) {
    for (std::int64_t i = 0; i < length; ++i) largest = std::max(largest, Wide<T>(x[i * step]));
    for (std::int64_t i = 0; i < length; ++i) sum += std::exp(Wide<T>(x[i * step]) - largest);
  }

  Wide<T> share(T x) const { return std::exp(Wide<T>(x) - largest) / sum; }
  Wide<T> log_share(T x) const { return Wide<T>(x) - largest - std::log(sum); }
};

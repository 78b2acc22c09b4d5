// Sums of blocks in double, in an order that depends on the number of elements alone.
#pragma once

#include <cstdint>

#include "convert.hpp"

namespace tenon {
namespace [[gnu::visibility("hidden")]] elementwise {

/// The sum of n values, in eight interleaved rows.
template <class T>
double total_of(const T* values, std::int64_t n) {
  double rows[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) rows[k] += static_cast<double>(values[i + k]);
  for (int k = 0; i < n; ++i, ++k) rows[k] += static_cast<double>(values[i]);
  return ((rows[0] + rows[1]) + (rows[2] + rows[3])) + ((rows[4] + rows[5]) + (rows[6] + rows[7]));
}

/// totals[i] += values[i].
template <class T>
void add_to_totals(const T* values, double* totals, std::int64_t n) {
  for_each(n, [=](std::int64_t i) { totals[i] += static_cast<double>(values[i]); });
}

}  // namespace gnu::visibility("hidden")]]elementwise
}  // namespace tenon

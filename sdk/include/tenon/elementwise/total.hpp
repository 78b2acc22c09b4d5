// Blockwise sums in double, in an order that depends only on the number of elements.
#pragma once

#include <cstdint>

#include "../version.hpp"
#include "convert.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Returns the sum of n values, in eight interleaved accumulators.
[[gnu::noinline]] inline double total_of(const double* values, std::int64_t n) {
  double rows[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int k = 0; k < 8; ++k) rows[k] += values[i + k];
  for (int k = 0; i < n; ++i, ++k) rows[k] += values[i];
  return ((rows[0] + rows[1]) + (rows[2] + rows[3])) + ((rows[4] + rows[5]) + (rows[6] + rows[7]));
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

// Blockwise sums for Write::add.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../version.hpp"
#include "convert.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Computes to[i] += values[i]: integers modulo 2^bits, logical OR for bool.
template <class T>
[[gnu::noinline]] void accumulate(const void* values, void* to, std::int64_t n) {
  const T* from = static_cast<const T*>(values);
  T* sum = static_cast<T*>(to);
  for_each(n, [=](std::int64_t i) {
    if constexpr (std::is_same_v<T, bool>) {
      sum[i] = sum[i] | from[i];
    } else if constexpr (std::is_integral_v<T>) {
      sum[i] =
          static_cast<T>(static_cast<std::uint64_t>(sum[i]) + static_cast<std::uint64_t>(from[i]));
    } else {
      sum[i] += from[i];
    }
  });
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

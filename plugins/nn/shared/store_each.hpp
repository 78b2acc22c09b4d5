// Stores many results in the requested write mode, on the CPU.
#pragma once
#include <cstdint>
#include <tenon/elementwise/for_each.hpp>

#include "store.hpp"

/// to[i] = (with Write::add: +=) value(i) for i from 0 to n. Vectorized inside of tenon::wide:
/// value(i) may read to[i], but no other element of to.
template <class T, class Value>
[[gnu::always_inline]] inline void store_each(tenon::Write write, T* to, std::int64_t n,
                                              const Value& value) {
  if (write == tenon::Write::add) {
    TENON_INDEPENDENT
    for (std::int64_t i = 0; i < n; ++i) to[i] = T(Wide<T>(to[i]) + value(i));
  } else if (write != tenon::Write::none) {
    TENON_INDEPENDENT
    for (std::int64_t i = 0; i < n; ++i) to[i] = T(value(i));
  }
}

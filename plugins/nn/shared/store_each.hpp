// Writing many results the way the host asked for them, on the CPU.
#pragma once
#include <cstdint>
#include <tenon/elementwise/for_each.hpp>

#include "store.hpp"

/// Puts value(i) into to[i], or adds it there, for i from 0 to n. It is vector code inside of tenon::wide: element i may be made of what
/// was at to[i], but of none of the others.
template <class T, class Value>
[[gnu::always_inline]] inline void store_each(tenon::Write write, T* to, std::int64_t n, const Value& value) {
  if (write == tenon::Write::add) {
    TENON_INDEPENDENT
    for (std::int64_t i = 0; i < n; ++i) to[i] = T(Wide<T>(to[i]) + value(i));
  } else if (write != tenon::Write::none) {
    TENON_INDEPENDENT
    for (std::int64_t i = 0; i < n; ++i) to[i] = T(value(i));
  }
}

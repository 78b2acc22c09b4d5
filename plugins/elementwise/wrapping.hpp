// Integer arithmetic that wraps around, as in numpy; signed overflow is undefined in C++.
#pragma once
#include <tenon/elementwise.hpp>
#include <type_traits>

/// Returns f(l, r), which for integers is computed unsigned and taken modulo 2^bits.
template <class T, class F>
TENON_FN constexpr T wrapping(T l, T r, F f) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::common_type_t<std::make_unsigned_t<T>,
                                        unsigned>;  // not int, to which uint16 would be promoted
    return static_cast<T>(f(static_cast<Unsigned>(l), static_cast<Unsigned>(r)));
  } else {
    return f(l, r);
  }
}

// Integer arithmetic that wraps around as numpy's does, where C++ leaves signed overflow undefined.
#pragma once
#include <tenon/elementwise.hpp>
#include <type_traits>

/// f(l, r); for integers computed without a sign, then taken modulo 2^bits.
template <class T, class F>
TENON_FN constexpr T wrapping(T l, T r, F f) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::common_type_t<std::make_unsigned_t<T>, unsigned>;  // not int, which uint16 would become
    return static_cast<T>(f(static_cast<Unsigned>(l), static_cast<Unsigned>(r)));
  } else {
    return f(l, r);
  }
}

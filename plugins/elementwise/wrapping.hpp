// Integer arithmetic that is defined for all operands, where C++ leaves it undefined.
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

/// Returns the divisor, or 1 in the two cases that are undefined in C++: a divisor of 0, and the
/// minimum divided by -1, whose quotient is the minimum again modulo 2^bits. The remainder by 1 is
/// 0, which is right for both.
template <class T>
TENON_FN constexpr T safe_divisor(T left, T right) {
  if constexpr (std::is_signed_v<T>) {
    const bool overflows = (right == T(-1)) & (left == tenon::elementwise::min_value<T>);
    return tenon::select((right == T(0)) | overflows, T(1), right);
  } else {
    return tenon::select(right == T(0), T(1), right);
  }
}

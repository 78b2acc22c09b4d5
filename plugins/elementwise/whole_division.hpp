// Integer division that is defined for every divisor.
#pragma once
#include <tenon/elementwise.hpp>
#include <type_traits>

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

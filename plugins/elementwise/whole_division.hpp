// Division of whole numbers that is defined for every divisor.
#pragma once
#include <tenon/elementwise.hpp>
#include <type_traits>

/// The divisor, or 1 where C++ leaves the division undefined: a divisor of 0, and -1 of the least number, whose quotient is that number
/// again modulo 2^bits. The remainder by 1 is 0, as it should be in both cases.
template <class T>
TENON_FN constexpr T safe_divisor(T left, T right) {
  if constexpr (std::is_signed_v<T>) {
    const bool overflows = (right == T(-1)) & (left == tenon::elementwise::least<T>);
    return tenon::select((right == T(0)) | overflows, T(1), right);
  } else {
    return tenon::select(right == T(0), T(1), right);
  }
}

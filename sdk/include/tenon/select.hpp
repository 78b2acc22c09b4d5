// Branchless selection between two computed values. GCC turns `c ? a : b` back into control flow if
// a or b is a floating-point expression, which might trap, and then does not vectorise the loop; it
// does not do so with masks.
#pragma once

#include <cstdint>
#include <type_traits>

#include "detail/visibility.hpp"
#include "fn.hpp"

#pragma GCC visibility push(hidden)
namespace tenon {

/// Reinterprets the bits as another type of the same size: bits_as<std::uint32_t>(1.0f) is
/// 0x3f800000. std::bit_cast cannot be called on CUDA devices.
template <class To, class From>
TENON_FN constexpr To bits_as(const From& value) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, value);
}

/// Returns yes if the condition holds, else no; both are computed. Loops over it are vectorised:
///
///     for (std::int64_t i = 0; i < n; ++i) y[i] = tenon::select(x[i] > 0, x[i], slope * x[i]);
///
/// Works on numbers of any type, in constant expressions and on CUDA devices. In elementwise
/// classes use where(condition, yes, no), which also supports dual numbers.
template <class T>
TENON_FN constexpr T select(bool condition, T yes, T no) {
  if constexpr (std::is_floating_point_v<T> && sizeof(T) <= 8) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const Bits mask = Bits(0) - Bits(condition);
    return bits_as<T>((bits_as<Bits>(yes) & mask) | (bits_as<Bits>(no) & ~mask));
  } else if constexpr (std::is_integral_v<T>) {
    using Bits = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;
    const Bits mask = Bits(0) - Bits(condition);
    return T((Bits(yes) & mask) | (Bits(no) & ~mask));
  } else {  // long double and types of authors
    return condition ? yes : no;
  }
}

}  // namespace tenon
#pragma GCC visibility pop

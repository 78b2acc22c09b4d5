// A choice between two finished values, without a branch. GCC turns `c ? a : b` back into control flow when a or b is floating arithmetic,
// since that might trap, and then leaves the whole loop scalar; it does not do so with masks.
#pragma once

#include <cstdint>
#include <type_traits>

#include "fn.hpp"
#include "visibility.hpp"

#pragma GCC visibility push(hidden)
namespace tenon {

/// The same bits as another type; std::bit_cast cannot be called on CUDA devices.
template <class To, class From>
TENON_FN constexpr To bits_as(const From& value) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, value);
}

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
  } else {
    return condition ? yes : no;
  }
}

}  // namespace tenon
#pragma GCC visibility pop

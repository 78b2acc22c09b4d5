// The order of elements, nan included: a comparison for maxima, and keys for sorting.
#pragma once
#include <tenon/fn.hpp>
#include <tenon/operator.hpp>
#include <tenon/select.hpp>
#include <type_traits>

/// Whether `value` replaces the maximum so far. NaN counts as the largest value; the first of equal
/// values stays.
template <class T>
TENON_FN constexpr bool is_larger(T value, T than) {
  return !(value <= than) & (than == than);
}

/// Larger elements have larger keys. nan of either sign is the largest; -0 equals 0.
template <class T>
TENON_FN std::uint64_t sort_key(T element) {
  constexpr auto top = std::uint64_t{1} << 63;
  if constexpr (std::is_floating_point_v<T> || tenon::is_half<T>) {
    const auto value =
        static_cast<double>(static_cast<std::conditional_t<tenon::is_half<T>, float, T>>(element));
    if (value != value) return ~std::uint64_t{0};
    const auto bits = tenon::bits_as<std::uint64_t>(value == 0 ? 0.0 : value);
    return bits & top ? ~bits : bits | top;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(element)) ^ top;
  } else {
    return static_cast<std::uint64_t>(element);
  }
}

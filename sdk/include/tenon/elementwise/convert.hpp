// Conversion of blocks of elements between dtypes.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "../dtype.hpp"
#include "../half.hpp"
#include "../version.hpp"
#include "for_each.hpp"
#include "half_blocks.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::elementwise {

/// Number of elements staged at a time if a tensor cannot be read or written in place.
inline constexpr std::int64_t block = 512;

/// Variables, because device code cannot call numeric_limits' functions.
template <class Whole>
inline constexpr Whole min_value = std::numeric_limits<Whole>::min();
template <class Whole>
inline constexpr Whole max_value = std::numeric_limits<Whole>::max();
/// Former names.
template <class Whole>
[[deprecated("use min_value; until 0.4")]] inline constexpr Whole least = min_value<Whole>;
template <class Whole>
[[deprecated("use max_value; until 0.4")]] inline constexpr Whole most = max_value<Whole>;

/// Converts to an integer type; values out of range saturate, and NaN becomes 0.
template <class To, class From>
TENON_FN inline To number_as(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> &&
                !std::is_same_v<To, bool>) {
    // The upper limit may round up to a number that does not fit; everything below the rounded
    // limit fits.
    constexpr auto low = static_cast<From>(min_value<To>), high = static_cast<From>(max_value<To>);
    if (value != value) return 0;
    if (value < low) return min_value<To>;
    return value < high ? static_cast<To>(value) : max_value<To>;
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
void convert_block(const void* in, void* out, std::int64_t n) {
  const From* from = static_cast<const From*>(in);
  To* to = static_cast<To*>(out);
  for_each(n, [=](std::int64_t i) { to[i] = number_as<To>(from[i]); });
}

using Convert = void (*)(DType from, DType to, const void* in, void* out, std::int64_t n);

/// Converts between the 16-bit types and float: sufficient for operators whose inputs share one
/// dtype. Error (type): other dtypes.
inline void convert_half(DType from, DType to, const void* in, void* out, std::int64_t n) {
  if (from == DType::f16 && to == DType::f32)
    return widen_halves(static_cast<const half*>(in), static_cast<float*>(out), n);
  if (from == DType::bf16 && to == DType::f32) return convert_block<bfloat16, float>(in, out, n);
  if (from == DType::f32 && to == DType::f16)
    return round_to_halves(static_cast<const float*>(in), static_cast<half*>(out), n);
  if (from == DType::f32 && to == DType::bf16) return convert_block<float, bfloat16>(in, out, n);
  fail(ErrorKind::type, {from, " cannot be read as ", to, " here"});
}

}  // namespace tenon::TENON_SDK::elementwise
#pragma GCC visibility pop

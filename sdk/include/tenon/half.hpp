// The two 16-bit floating types. They are storage types: arithmetic happens in float, to which both
// convert exactly.
//
//     const auto x = call.input<tenon::half>(0);
//     const auto y = call.output<tenon::half>(0);
//     float sum = 0;  // accumulate in float: half has 11 significant bits, bfloat16 has 8
//     for (const tenon::half value : x) sum += value;
//     y[0] = sum;     // rounds once
//
// Both are trivially copyable and have the bits of CUDA's __half and __nv_bfloat16, numpy's float16
// and DLPack, so arrays of them may be passed to libraries. They work in constant expressions and
// on CUDA devices.
#pragma once

#include <cstdint>
#include <type_traits>

#include "detail/visibility.hpp"
#include "fn.hpp"
#include "select.hpp"

#pragma GCC visibility push(hidden)
namespace tenon {

namespace halves {

/// Types from which a 16-bit float is made through a float rounded to odd.
template <class Number>
inline constexpr bool rounds_to_half =
    std::is_arithmetic_v<Number> && !std::is_same_v<Number, float> && sizeof(Number) <= 8;

/// Returns the float next to value toward zero, with its last bit set unless it is exact ("rounding
/// to odd"). Rounding that float to 22 bits or fewer gives the same result as rounding value
/// directly: a midpoint between two shorter numbers is never hit by accident.
TENON_FN TENON_HIDDEN constexpr float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  const std::uint64_t magnitude = ~(std::uint64_t(1) << 63);
  const bool inexact = back != value, beyond = (bits_as<std::uint64_t>(back) & magnitude) >
                                               (bits_as<std::uint64_t>(value) & magnitude);
  return bits_as<float>((bits_as<std::uint32_t>(nearest) - std::uint32_t(beyond)) |
                        std::uint32_t(inexact));  // NaN stays NaN
}

/// Integers above 53 bits replace their last 12 bits by a bit that says whether any of them was
/// set; a double then holds the rest exactly.
///
/// Example, the smallest number above the midpoint of two halves:
///
///     half(2049.0 + 1e-9) == half(2050)  // through a float rounded to nearest it would be 2048
template <class Number>
TENON_FN TENON_HIDDEN constexpr float odd_float(Number value) {
  if constexpr (std::is_integral_v<Number> && sizeof(Number) == 8) {
    constexpr Number exact = Number(1) << 53, rest = 0xfff;
    const bool large = value > exact || (std::is_signed_v<Number> && value < Number(0) - exact);
    const Number odd = Number((value & Number(~rest)) | Number((value & rest) != 0 ? 0x800 : 0));
    return round_to_odd(static_cast<double>(large ? odd : value));
  } else {
    return round_to_odd(static_cast<double>(value));
  }
}

}  // namespace halves

/// IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits. Conversions round once, to nearest,
/// ties to even; numbers from 65520 on become infinity. The largest finite number is 65504, the
/// smallest normal one 2^-14, the smallest positive one 2^-24.
class TENON_OPEN half {
 public:
  half() = default;  ///< uninitialized, like a float; half{} is 0
  TENON_FN TENON_HIDDEN constexpr half(float value)
      : bits_(rounded(value)) {}  // implicit, like double to float
  template <class Number>
  requires halves::rounds_to_half<Number> TENON_FN TENON_HIDDEN constexpr half(Number value)
      : half(halves::odd_float(value)) {}
  /// Exact. `a + b` of two halves is a float; assigning it to a half rounds it.
  TENON_FN TENON_HIDDEN constexpr operator float() const { return widened(bits_); }

  /// Makes a number from its bits, the inverse of bits(): half::from_bits(0x3c00) is 1.
  TENON_FN TENON_HIDDEN static constexpr half from_bits(std::uint16_t bits) {
    half result{};
    result.bits_ = bits;
    return result;
  }
  TENON_FN TENON_HIDDEN constexpr std::uint16_t bits() const {
    return bits_;
  }  ///< sign in bit 15, then exponent, then fraction

 private:
  // GPUs have an instruction for each direction, whose results differ from the code below only in
  // the bits of NaN.
  TENON_FN TENON_HIDDEN static constexpr std::uint16_t rounded(float value) {
#if defined(__CUDA_ARCH__)
    if (!__builtin_is_constant_evaluated()) {
      std::uint16_t bits = 0;
      asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
      return bits;
    }
#endif
    return round(bits_as<std::uint32_t>(value));
  }
  TENON_FN TENON_HIDDEN static constexpr float widened(std::uint16_t bits) {
#if defined(__CUDA_ARCH__)
    if (!__builtin_is_constant_evaluated()) {
      float value = 0;
      asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
      return value;
    }
#endif
    return bits_as<float>(widen(bits));
  }

  // Both directions compute all cases and select at the end, so that loops over them are
  // vectorised.
  TENON_FN TENON_HIDDEN static constexpr std::uint32_t widen(std::uint16_t bits) {
    const std::uint32_t magnitude = (bits & 0x7fffu) << 13, sign = (bits & 0x8000u) << 16;
    const std::uint32_t normal = magnitude + (112u << 23);  // exponent bias 127 instead of 15
    const std::uint32_t special =
        magnitude + (224u << 23) +
        select(magnitude > (31u << 23), 0x400000u & ~magnitude, 0u);  // quiets NaN
    // A denormal is its fraction times 2^-24: put the fraction below the leading one of 2^-14, then
    // subtract that one.
    const float shifted = bits_as<float>(magnitude + (113u << 23)) - bits_as<float>(113u << 23);
    const std::uint32_t denormal = bits_as<std::uint32_t>(shifted);
    const std::uint32_t finite = select(magnitude < (1u << 23), denormal, normal);
    return sign | select(magnitude >= (31u << 23), special, finite);
  }

  TENON_FN TENON_HIDDEN static constexpr std::uint16_t round(std::uint32_t bits) {
    const std::uint32_t magnitude = bits & 0x7fffffffu, sign = (bits >> 16) & 0x8000u;
    const std::uint32_t ties_to_even = 0xfffu + ((magnitude >> 13) & 1u);
    const std::uint32_t normal =
        (magnitude - (112u << 23) + ties_to_even) >> 13;  // may carry into infinity, rightly
    // Below 2^-14, the addition to 0.5, whose last bit is 2^-24, does the rounding.
    const float shifted = bits_as<float>(select(magnitude < (113u << 23), magnitude, 0u)) + 0.5f;
    const std::uint32_t denormal = bits_as<std::uint32_t>(shifted) - bits_as<std::uint32_t>(0.5f);
    const std::uint32_t special =
        select(magnitude > (255u << 23), 0x7e00u | (magnitude >> 13 & 0x3ffu), 0x7c00u);
    const std::uint32_t finite = select(magnitude < (113u << 23), denormal, normal);
    return static_cast<std::uint16_t>(sign | select(magnitude >= (143u << 23), special, finite));
  }

  std::uint16_t bits_;  // as IEEE 754 lays them out
};

/// bfloat16: the range of float with two to three decimal digits; use half if precision matters. It
/// is the upper half of a float: 1 sign, 8 exponent and 7 fraction bits. The largest finite number
/// is about 3.39e38. Conversions round once, to nearest, ties to even; NaN stays NaN.
class TENON_OPEN bfloat16 {
 public:
  bfloat16() = default;  ///< uninitialized; bfloat16{} is 0
  TENON_FN TENON_HIDDEN constexpr bfloat16(float value)
      : bits_(round(bits_as<std::uint32_t>(value))) {}
  template <class Number>
  requires halves::rounds_to_half<Number> TENON_FN TENON_HIDDEN constexpr bfloat16(Number value)
      : bfloat16(halves::odd_float(value)) {}
  /// Exact: it appends 16 zero bits.
  TENON_FN TENON_HIDDEN constexpr operator float() const {
    return bits_as<float>(static_cast<std::uint32_t>(bits_) << 16);
  }

  /// Makes a number from its bits: bfloat16::from_bits(0x3f80) is 1.
  TENON_FN TENON_HIDDEN static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 result{};
    result.bits_ = bits;
    return result;
  }
  TENON_FN TENON_HIDDEN constexpr std::uint16_t bits() const { return bits_; }

 private:
  TENON_FN TENON_HIDDEN static constexpr std::uint16_t round(std::uint32_t bits) {
    const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const bool nan = (bits & 0x7fffffffu) > (255u << 23);
    return static_cast<std::uint16_t>(select(nan, (bits >> 16) | 0x40u, rounded));
  }

  std::uint16_t bits_;
};

// Required by files, DLPack and the C boundary.
static_assert(sizeof(half) == 2 && sizeof(bfloat16) == 2);

/// Whether elements of type T are converted to float for arithmetic.
template <class T>
inline constexpr bool is_half = std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

}  // namespace tenon
#pragma GCC visibility pop

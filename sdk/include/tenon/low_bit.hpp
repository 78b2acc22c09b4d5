// Types of 8, 4 and 2 bits in which models store weights and activations: floats without enough
// bits to compute in, and small integers. They are moved, cast, quantized and dequantized;
// arithmetic happens in float, to which all of them convert exactly.
//
//     const auto x = call.input<tenon::float8_e4m3fn>(0);
//     float sum = 0;
//     for (const tenon::float8_e4m3fn value : x) sum += value;
//     call.output<tenon::float8_e4m3fn>(0)[0] = tenon::float8_e4m3fn(sum);  // rounds once
//
// An element takes one byte in memory, also if it has 4 or 2 bits: these are the lower ones, and
// the others are 0. That is the layout of ml_dtypes' arrays; ONNX's files pack several elements
// into a byte.
#pragma once
#include <cstdint>
#include <type_traits>

#include "detail/visibility.hpp"
#include "fn.hpp"
#include "half.hpp"
#include "select.hpp"

#pragma GCC visibility push(hidden)
namespace tenon {

/// In the order of the dtypes' numbers. The names of floats give the bits of exponent and mantissa;
/// fn: finite, without infinities; uz: a single zero, which is not signed, and a single NaN.
enum class LowBitKind : std::uint8_t {
  float8_e4m3fn,
  float8_e4m3fnuz,
  float8_e5m2,
  float8_e5m2fnuz,
  float8_e8m0fnu,
  float4_e2m1fn,
  int4,
  uint4,
  int2,
  uint2
};
inline constexpr int low_bit_kinds = 10;

/// Rounding to a power of two, the only numbers of float8_e8m0fnu: to the next larger one, the next
/// smaller one, or the nearest one, ties up. All other types round to nearest, ties to even.
enum class PowerRounding : std::uint8_t { up, down, nearest };

/// How a kind represents numbers, and the conversions between float and its codes.
struct LowBitFormat {
  std::uint8_t bits;                ///< of a code
  bool is_signed;                   ///< the highest of them is the sign
  std::uint8_t exponent, fraction;  ///< numbers of bits; no exponent: an integer
  std::uint8_t bias;                ///< of the exponent
  std::uint8_t max;                 ///< the code of the largest number
  std::uint8_t overflow;  ///< the code of larger ones if they do not saturate: infinity or NaN
  std::uint8_t nan;       ///< the code of NaN; 0 if there is none

  TENON_FN constexpr bool is_integer() const { return exponent == 0; }
  TENON_FN constexpr bool is_power() const { return exponent == 8; }
  /// The bits of a code.
  TENON_FN constexpr std::uint32_t mask() const { return (1u << bits) - 1; }

  /// Exact. Ignores the upper bits of a byte that has fewer than 8.
  TENON_FN constexpr float decode(std::uint8_t byte) const {
    const std::uint32_t code = byte & mask(), sign = is_signed ? code >> (bits - 1) : 0;
    const std::uint32_t magnitude = code - (sign << (bits - 1));
    if (is_integer())
      return static_cast<float>(static_cast<std::int32_t>(code) -
                                static_cast<std::int32_t>(sign << bits));
    if (is_power()) {  // 2^-127 is a denormal of float
      return bits_as<float>(code == nan ? 0x7fc00000u : code == 0 ? 0x400000u : code << 23);
    }
    if (magnitude > max || (single_zero() && code == nan)) {
      const bool infinite = magnitude == overflow && overflow != nan;
      return bits_as<float>(sign << 31 | (infinite ? 0x7f800000u : 0x7fc00000u));
    }
    const std::uint32_t normal = (magnitude << (23 - fraction)) + ((127u - bias) << 23);
    const float denormal =
        static_cast<float>(magnitude) * bits_as<float>((128u - bias - fraction) << 23);
    return bits_as<float>(sign << 31 |
                          (magnitude >> fraction == 0 ? bits_as<std::uint32_t>(denormal) : normal));
  }

  /// Rounds once. `saturate`: numbers beyond the largest one, and infinities, become the largest
  /// one; otherwise infinity, or NaN in kinds without infinities. Integers and float4_e2m1fn always
  /// saturate; integers are truncated toward zero. NaN becomes 0 in kinds without NaN. In
  /// float8_e8m0fnu, negative numbers become NaN, and numbers below 2^-127 become that if
  /// `saturate`, otherwise NaN.
  TENON_FN constexpr std::uint8_t encode(float value, bool saturate = true,
                                         PowerRounding rounding = PowerRounding::up) const {
    const std::uint32_t all = bits_as<std::uint32_t>(value), magnitude = all & 0x7fffffffu;
    const std::uint32_t sign = is_signed ? all >> 31 << (bits - 1) : 0;
    if (magnitude > 0x7f800000u)
      return static_cast<std::uint8_t>(nan == 0 || single_zero() ? nan : sign | nan);
    if (is_integer()) return integer(value);
    if (is_power()) return all > 0x80000000u ? nan : power(magnitude, saturate, rounding);
    const std::uint32_t code = rounded(magnitude);
    if (code > max) {
      const std::uint32_t limit = saturate ? max : overflow;
      return static_cast<std::uint8_t>(single_zero() && limit == nan ? nan : sign | limit);
    }
    return static_cast<std::uint8_t>(code == 0 && single_zero() ? 0 : sign | code);
  }

 private:
  TENON_FN constexpr bool single_zero() const { return nan == 0x80; }

  TENON_FN constexpr std::uint8_t integer(float value) const {
    const float high = static_cast<float>(max),
                low = is_signed ? -static_cast<float>(max) - 1 : 0.0f;
    const float limited = value < low ? low : value > high ? high : value;
    return static_cast<std::uint8_t>(
        static_cast<std::uint32_t>(static_cast<std::int32_t>(limited)) & mask());
  }

  /// The magnitude's code, which is above `max` if it is too large.
  TENON_FN constexpr std::uint32_t rounded(std::uint32_t magnitude) const {
    const std::uint32_t smallest = (128u - bias) << 23;  // the smallest normal number
    if (magnitude < smallest) {
      // The last bit of `shift` has the value of a denormal's last bit: the addition rounds.
      const std::uint32_t shift = (151u - bias - fraction) << 23;
      return bits_as<std::uint32_t>(bits_as<float>(magnitude) + bits_as<float>(shift)) - shift;
    }
    const std::uint32_t dropped = 23u - fraction;
    const std::uint32_t ties_to_even = (1u << (dropped - 1)) - 1 + (magnitude >> dropped & 1u);
    return (magnitude - ((127u - bias) << 23) + ties_to_even) >> dropped;
  }

  TENON_FN constexpr std::uint8_t power(std::uint32_t magnitude, bool saturate,
                                        PowerRounding rounding) const {
    constexpr std::uint32_t smallest = 0x400000u;
    if (magnitude < smallest) return saturate ? 0 : nan;
    const bool denormal = magnitude < 0x800000u;
    const std::uint32_t rest = denormal ? (magnitude - smallest) << 1 : magnitude & 0x7fffffu;
    const bool larger = rounding == PowerRounding::up        ? rest != 0
                        : rounding == PowerRounding::nearest ? rest >= 0x400000u
                                                             : false;
    const std::uint32_t code = (magnitude >> 23) + (larger ? 1u : 0u);
    return static_cast<std::uint8_t>(code <= max ? code : saturate ? max : nan);
  }
};

inline constexpr LowBitFormat low_bit_formats[low_bit_kinds] = {
    {8, true, 4, 3, 7, 0x7e, 0x7f, 0x7f},
    {8, true, 4, 3, 8, 0x7f, 0x80, 0x80},
    {8, true, 5, 2, 15, 0x7b, 0x7c, 0x7e},
    {8, true, 5, 2, 16, 0x7f, 0x80, 0x80},
    {8, false, 8, 0, 127, 0xfe, 0xff, 0xff},
    {4, true, 2, 1, 1, 7, 7, 0},
    {4, true, 0, 0, 0, 7, 7, 0},
    {4, false, 0, 0, 0, 15, 15, 0},
    {2, true, 0, 0, 0, 1, 1, 0},
    {2, false, 0, 0, 0, 3, 3, 0}};

/// An element of a low-bit dtype.
template <LowBitKind kind>
class TENON_OPEN LowBit {
 public:
  LowBit() = default;  ///< uninitialized; LowBit{} is 0, or 2^-127 for float8_e8m0fnu
  /// Rounds to nearest, ties to even, and saturates; see LowBitFormat::encode() for all rules.
  TENON_FN TENON_HIDDEN explicit constexpr LowBit(float value) : bits_(format().encode(value)) {}
  /// Other numbers. Integers wrap around in integer types, as between all integer types.
  template <class Number>
  requires std::is_arithmetic_v<Number> TENON_FN
      TENON_HIDDEN explicit constexpr LowBit(Number value)
      : bits_(code_of(value)) {}
  /// Exact.
  TENON_FN TENON_HIDDEN constexpr operator float() const { return format().decode(bits_); }

  /// Makes a number from its code, the inverse of bits(): float8_e4m3fn::from_bits(0x38) is 1.
  TENON_FN TENON_HIDDEN static constexpr LowBit from_bits(std::uint8_t bits) {
    LowBit result{};
    result.bits_ = bits;
    return result;
  }
  TENON_FN TENON_HIDDEN constexpr std::uint8_t bits() const { return bits_; }
  TENON_FN TENON_HIDDEN static constexpr LowBitFormat format() {
    constexpr LowBitFormat own = low_bit_formats[static_cast<int>(kind)];
    return own;
  }

 private:
  template <class Number>
  TENON_FN TENON_HIDDEN static constexpr std::uint8_t code_of(Number value) {
    if constexpr (std::is_integral_v<Number>)
      if (format().is_integer())
        return static_cast<std::uint8_t>(static_cast<std::uint32_t>(value) & format().mask());
    if constexpr (std::is_same_v<Number, float>)
      return format().encode(value);
    else
      return format().encode(halves::odd_float(value));
  }

  std::uint8_t bits_;
};

using float8_e4m3fn = LowBit<LowBitKind::float8_e4m3fn>;      ///< largest 448; NaN, no infinities
using float8_e4m3fnuz = LowBit<LowBitKind::float8_e4m3fnuz>;  ///< largest 240
using float8_e5m2 = LowBit<LowBitKind::float8_e5m2>;  ///< largest 57344; infinities, as in IEEE 754
using float8_e5m2fnuz = LowBit<LowBitKind::float8_e5m2fnuz>;  ///< largest 57344
using float8_e8m0fnu = LowBit<LowBitKind::float8_e8m0fnu>;    ///< powers of two, 2^-127 to 2^127
using float4_e2m1fn = LowBit<LowBitKind::float4_e2m1fn>;      ///< 0, 0.5, 1, 1.5, 2, 3, 4, 6
using int4_t = LowBit<LowBitKind::int4>;                      ///< -8 to 7
using uint4_t = LowBit<LowBitKind::uint4>;                    ///< 0 to 15
using int2_t = LowBit<LowBitKind::int2>;                      ///< -2 to 1
using uint2_t = LowBit<LowBitKind::uint2>;                    ///< 0 to 3

/// Whether T is one of these types.
template <class T>
inline constexpr bool is_low_bit = false;
template <LowBitKind kind>
inline constexpr bool is_low_bit<LowBit<kind>> = true;
/// Bits of an element: 4 for int4_t, 8 * sizeof(T) for other types.
template <class T>
inline constexpr int bits_in = 8 * sizeof(T);
template <LowBitKind kind>
inline constexpr int bits_in<LowBit<kind>> = LowBit<kind>::format().bits;

}  // namespace tenon
#pragma GCC visibility pop

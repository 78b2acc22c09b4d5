// The oracle uses only values: it decodes bits with ldexp and rounds by searching the sorted list
// of all values for the nearest one.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <tenon/half.hpp>
#include <vector>

namespace {

struct Format {
  int exponent_bits, fraction_bits;
};
constexpr Format binary16{5, 10}, brain16{8, 7};

double decode(Format format, int bits) {
  const int fraction = bits & ((1 << format.fraction_bits) - 1);
  const int exponent = (bits >> format.fraction_bits) & ((1 << format.exponent_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  if (exponent == (1 << format.exponent_bits) - 1)
    return fraction ? std::nan("") : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - format.fraction_bits);
  return sign *
         std::ldexp(fraction + (1 << format.fraction_bits), exponent - bias - format.fraction_bits);
}

template <class T>
void check_widening(Format format) {
  for (int bits = 0; bits < 65536; ++bits) {
    const double expected = decode(format, bits);
    const float found = T::from_bits(static_cast<std::uint16_t>(bits));
    const bool same = std::isnan(expected)
                          ? std::isnan(found)
                          : expected == found && std::signbit(expected) == std::signbit(found);
    if (!same) FAIL("bits ", bits, " became ", found, ", not ", expected);
  }
}

// Tests each gap between neighbours at its ends, at its midpoint (the tie) and one Number on both
// sides of the midpoint.
template <class T, class Number>
void check_rounding(Format format) {
  const int infinity = ((1 << format.exponent_bits) - 1) << format.fraction_bits;
  for (int low = 0; low < infinity; ++low) {
    const int high = low + 1;
    const double top =
        high == infinity ? 2 * decode(format, low) - decode(format, low - 1) : decode(format, high);
    const auto middle = static_cast<Number>((decode(format, low) + top) / 2);
    const struct {
      Number value;
      int bits;
    } cases[] = {{static_cast<Number>(decode(format, low)), low},
                 {std::nextafter(middle, Number(0)), low},
                 {middle, low % 2 ? high : low},
                 {std::nextafter(middle, std::numeric_limits<Number>::infinity()), high}};
    for (const auto& [value, bits] : cases) {
      if (T(value).bits() != bits) FAIL(value, " became bits ", T(value).bits(), ", not ", bits);
      if (T(-value).bits() != (bits | 0x8000))
        FAIL(-value, " became bits ", T(-value).bits(), ", not ", bits | 0x8000);
    }
  }
}

// The integers around each integral midpoint, if Whole holds them.
template <class T, class Whole>
void check_rounding_of_integers(Format format) {
  const int infinity = ((1 << format.exponent_bits) - 1) << format.fraction_bits;
  const double most = std::ldexp(1, std::numeric_limits<Whole>::digits);
  for (int low = 0; low + 1 < infinity; ++low) {
    const double middle = (decode(format, low) + decode(format, low + 1)) / 2;
    if (middle < 2 || middle != std::floor(middle) || middle + 1 >= most) continue;
    const auto whole = static_cast<Whole>(middle);
    const int bits[] = {low, low % 2 ? low + 1 : low, low + 1};
    for (int i = 0; i < 3; ++i) {
      const auto value = static_cast<Whole>(whole + static_cast<Whole>(i) - Whole(1));
      const bool inside =
          decode(format, low) <= middle - 1;  // where numbers are two apart, the integers next to
                                              // the midpoint are numbers themselves
      if (inside && T(value).bits() != bits[i])
        FAIL(value, " became bits ", T(value).bits(), ", not ", bits[i]);
      if constexpr (std::is_signed_v<Whole>)
        if (inside && T(-value).bits() != (bits[i] | 0x8000))
          FAIL(-value, " became bits ", T(-value).bits(), ", not ", bits[i] | 0x8000);
    }
  }
}

template <class T>
void check_integers(Format format) {
  check_rounding_of_integers<T, std::int32_t>(format);
  check_rounding_of_integers<T, std::uint32_t>(format);
  check_rounding_of_integers<T, std::int64_t>(format);
  check_rounding_of_integers<T, std::uint64_t>(format);
}

template <class T>
void check_special() {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(float(T(infinity)) == infinity);
  CHECK(float(T(-infinity)) == -infinity);
  CHECK(float(T(std::numeric_limits<float>::max())) == infinity);
  CHECK(std::signbit(float(T(-0.0f))));
  CHECK(T(std::numeric_limits<float>::denorm_min()).bits() == 0);
  for (std::uint32_t payload : {1u, 0x1fffu, 0x200000u, 0x400000u, 0x7fffffu})
    for (std::uint32_t sign : {0u, 0x80000000u}) {
      const std::uint32_t bits = sign | 0x7f800000u | payload;
      float value;
      std::memcpy(&value, &bits, sizeof value);
      CHECK(std::isnan(float(T(value))));
    }
}

}  // namespace

TEST_CASE("every half widens to its value") {
  check_widening<tenon::half>(binary16);
}
TEST_CASE("every bfloat16 widens to its value") {
  check_widening<tenon::bfloat16>(brain16);
}
TEST_CASE("floats and doubles round once to the nearest half, ties to even") {
  check_rounding<tenon::half, float>(binary16);
  check_rounding<tenon::half, double>(binary16);
}
TEST_CASE("floats and doubles round once to the nearest bfloat16, ties to even") {
  check_rounding<tenon::bfloat16, float>(brain16);
  check_rounding<tenon::bfloat16, double>(brain16);
}
TEST_CASE("integers round once to the nearest half or bfloat16, ties to even") {
  check_integers<tenon::half>(binary16);
  check_integers<tenon::bfloat16>(brain16);
}
TEST_CASE("infinities, NaN and zeros are preserved as half") {
  check_special<tenon::half>();
}
TEST_CASE("infinities, NaN and zeros are preserved as bfloat16") {
  check_special<tenon::bfloat16>();
}

TEST_CASE("numbers too large for half become infinite") {
  for (float value : {65520.f, 65536.f, 65537.f, 98304.f, 131072.f, 1e30f}) {
    CHECK(tenon::half(value).bits() == 0x7c00);
    CHECK(tenon::half(-value).bits() == 0xfc00);
  }
}

TEST_CASE("conversions are constant expressions") {
  static_assert(tenon::half(1.5f).bits() == 0x3e00);
  static_assert(float(tenon::half::from_bits(0x0001)) == 0x1p-24f);
  static_assert(tenon::bfloat16(-2.f).bits() == 0xc000);
}

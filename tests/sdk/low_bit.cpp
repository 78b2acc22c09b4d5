// The oracle decodes codes with ldexp, from the formats' definitions, and rounds by walking along
// the sorted numbers of a kind.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <tenon/dtype.hpp>
#include <vector>

using namespace tenon;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

struct Definition {
  DType dtype;
  int bits, exponent, fraction, bias;
  int infinity_code, nan_code;  // -1: none; both without the sign, but 0x80 is a whole code
};
// OCP's specifications of 8-bit floating points and of microscaling formats; Graphcore's for fnuz.
constexpr Definition formats[] = {
    {f8e4m3fn, 8, 4, 3, 7, -1, 0x7f},  {f8e4m3fnuz, 8, 4, 3, 8, -1, 0x80},
    {f8e5m2, 8, 5, 2, 15, 0x7c, 0x7d}, {f8e5m2fnuz, 8, 5, 2, 16, -1, 0x80},
    {f4e2m1fn, 4, 2, 1, 1, -1, -1},
};

double decode(const Definition& kind, int code) {
  const int magnitude = code & ((1 << (kind.bits - 1)) - 1);
  const double sign = code == magnitude ? 1 : -1;
  if (kind.nan_code == 0x80 ? code == 0x80 : kind.nan_code >= 0 && magnitude >= kind.nan_code)
    return not_a_number;
  if (magnitude == kind.infinity_code) return sign * infinite;
  const int exponent = magnitude >> kind.fraction, fraction = magnitude % (1 << kind.fraction);
  const int leading = exponent == 0 ? 0 : 1 << kind.fraction;
  return sign * std::ldexp(leading + fraction, std::max(exponent, 1) - kind.bias - kind.fraction);
}

int largest_code(const Definition& kind) {
  int code = (1 << (kind.bits - 1)) - 1;
  while (!std::isfinite(decode(kind, code))) --code;
  return code;
}

bool same(double left, double right) {
  return std::isnan(left) ? std::isnan(right)
                          : left == right && std::signbit(left) == std::signbit(right);
}

int sign_of(const Definition& kind) {
  return 1 << (kind.bits - 1);
}

/// The codes of `value` and `-value` with and without saturation; `code` is above the largest one
/// if the value rounds to more than the largest number.
void check_rounding(const Definition& kind, float value, int code) {
  const auto& format = low_bit_format(kind.dtype);
  const int largest = largest_code(kind);
  const bool single_zero = kind.nan_code == 0x80;
  for (const bool negative : {false, true})
    for (const bool saturate : {false, true}) {
      int expected = code;
      if (code > largest)
        expected = saturate || kind.nan_code < 0 ? largest
                   : kind.infinity_code >= 0     ? kind.infinity_code
                                                 : kind.nan_code;
      if (negative && !(single_zero && (expected == 0 || expected == kind.nan_code)))
        expected |= sign_of(kind);
      const int found = format.encode(negative ? -value : value, saturate);
      if (found != expected)
        FAIL(name_of(kind.dtype), ": ", value, ", negative: ", negative, ", saturate: ", saturate,
             " became ", found, ", not ", expected);
    }
}

}  // namespace

TEST_CASE("low-bit floats: every code is the number that its format defines") {
  for (const auto& kind : formats)
    for (int code = 0; code < 1 << kind.bits; ++code) {
      const double found = low_bit_format(kind.dtype).decode(static_cast<std::uint8_t>(code));
      if (!same(found, decode(kind, code)))
        FAIL(name_of(kind.dtype), ": ", code, " became ", found, ", not ", decode(kind, code));
    }
  // the upper bits of a byte are ignored
  CHECK(low_bit_format(f4e2m1fn).decode(0xa5) == 3);
  CHECK(low_bit_format(i4).decode(0x3f) == -1);
  CHECK(low_bit_format(u2).decode(0xfe) == 2);
}

TEST_CASE("low-bit floats: rounding is to nearest, ties to even, once") {
  for (const auto& kind : formats) {
    const int largest = largest_code(kind);
    for (int low = 0; low <= largest; ++low) {
      const double here = decode(kind, low),
                   next = low < largest ? decode(kind, low + 1) : 2 * here - decode(kind, low - 1);
      const auto middle = static_cast<float>((here + next) / 2);  // exact
      check_rounding(kind, static_cast<float>(here), low);
      check_rounding(kind, std::nextafter(middle, 0.0F), low);
      check_rounding(kind, middle, low % 2 == 0 ? low : low + 1);
      check_rounding(kind, std::nextafter(middle, 1e30F), low + 1);
    }
    for (const float beyond : {1e30F, std::numeric_limits<float>::infinity()})
      check_rounding(kind, beyond, largest + 1);
    check_rounding(kind, 1e-45F, 0);
  }
}

TEST_CASE("low-bit floats: NaN stays NaN, or becomes 0 where there is none") {
  for (const auto& kind : formats)
    for (const float value : {std::nanf(""), -std::nanf("")}) {
      CAPTURE(name_of(kind.dtype));
      const auto& format = low_bit_format(kind.dtype);
      const float found = format.decode(format.encode(value));
      CHECK(same(found, kind.nan_code < 0 ? 0 : not_a_number));
    }
}

TEST_CASE("low-bit floats: doubles and large integers round once, too") {
  // the midpoint of 16 and 18, which float cannot tell from its neighbours
  CHECK(static_cast<float>(float8_e4m3fn(17.0)) == 16);
  CHECK(static_cast<float>(float8_e4m3fn(17 + 1e-12)) == 18);
  CHECK(static_cast<float>(float8_e5m2((std::int64_t{1} << 15) + (std::int64_t{1} << 12))) ==
        32768);
  CHECK(static_cast<float>(float8_e5m2((std::int64_t{1} << 15) + (std::int64_t{1} << 12) + 1)) ==
        40960);
}

TEST_CASE("float8_e8m0fnu: powers of two in three rounding modes") {
  const auto& format = low_bit_format(f8e8m0fnu);
  for (int code = 0; code < 255; ++code)
    CHECK(format.decode(static_cast<std::uint8_t>(code)) == std::ldexp(1.0F, code - 127));
  CHECK(std::isnan(format.decode(255)));
  const auto code = [&](float value, PowerRounding rounding, bool saturate = true) {
    return static_cast<int>(format.encode(value, saturate, rounding));
  };
  using enum PowerRounding;
  for (int exponent = -127; exponent <= 127; ++exponent) {
    const float power = std::ldexp(1.0F, exponent), above = std::nextafter(power, 3e38F),
                middle = std::ldexp(1.5F, exponent), below = std::nextafter(middle, 0.0F);
    const int here = exponent + 127, next = std::min(here + 1, 254);
    for (const auto rounding : {up, down, nearest}) CHECK(code(power, rounding) == here);
    CHECK(code(above, up) == next);
    CHECK(code(middle, down) == here);
    CHECK(code(below, nearest) == here);
    CHECK(code(middle, nearest) == next);
  }
  const float largest = std::numeric_limits<float>::max();
  for (const float value : {largest, std::numeric_limits<float>::infinity()}) {
    CHECK(code(value, up) == 254);
    CHECK(code(value, up, false) == 255);
  }
  for (const float value : {0.0F, -0.0F, 1e-45F, 2e-39F}) {
    CHECK(code(value, up) == 0);
    CHECK(code(value, nearest, false) == 255);
  }
  for (const float value : {-1.0F, -1e-45F, std::nanf("")}) CHECK(code(value, up) == 255);
}

TEST_CASE("low-bit integers: truncate and saturate floats, and wrap integers around") {
  const struct {
    DType dtype;
    int lowest, highest;
  } kinds[] = {{i4, -8, 7}, {u4, 0, 15}, {i2, -2, 1}, {u2, 0, 3}};
  for (const auto& [dtype, lowest, highest] : kinds) {
    CAPTURE(name_of(dtype));
    const auto& format = low_bit_format(dtype);
    for (int number = lowest; number <= highest; ++number) {
      const auto code = format.encode(static_cast<float>(number));
      CHECK(code == (number & ((1 << bits_of(dtype)) - 1)));
      CHECK(format.decode(code) == number);
    }
    const auto through = [&](float value) { return format.decode(format.encode(value)); };
    CHECK(through(static_cast<float>(highest) + 1) == highest);
    CHECK(through(1e30F) == highest);
    CHECK(through(-1e30F) == lowest);
    CHECK(through(0.99F) == 0);
    CHECK(through(-0.99F) == 0);
    CHECK(through(1.99F) == 1);
    CHECK(through(std::nanf("")) == 0);
  }
  CHECK(static_cast<float>(int4_t(9)) == -7);
  CHECK(static_cast<float>(uint4_t(-1)) == 15);
  CHECK(static_cast<float>(int2_t(std::int64_t{2})) == -2);
  CHECK(static_cast<float>(uint2_t(true)) == 1);
}

TEST_CASE("low-bit dtypes: sizes, sets and numbers") {
  CHECK(storable == every_type + low_bit);
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    CAPTURE(name_of(dtype));
    if (low_bit.has(dtype))
      CHECK((size_of(dtype) == 1 && bits_of(dtype) <= 8));
    else
      CHECK(bits_of(dtype) == 8 * static_cast<int>(size_of(dtype)));
  }
  CHECK((bits_of(f4e2m1fn) == 4 && bits_of(u4) == 4 && bits_of(i2) == 2));
  CHECK(bits_of(unknown_dtype) == 0);
  CHECK((dtype_of<float8_e5m2> == f8e5m2 && dtype_of<uint2_t> == u2));
  CHECK((is_low_bit<int4_t> && !is_low_bit<std::int8_t> && !is_low_bit<half>));
}

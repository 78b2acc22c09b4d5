// The float functions of elementwise operators against the C library's in double, over floats of
// all magnitudes.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <tenon/elementwise.hpp>
#include <vector>

#include "../units_off.hpp"
#include "vector_levels.hpp"

namespace {

using tenon::Elementwise;
using tenon::half;

template <class Float, class Double>
double worst(Float function, Double oracle) {
  double worst = 0;
  for (std::uint64_t bits = 0; bits < std::uint64_t(1) << 32;
       bits += 1021) {  // a prime: every exponent with many fractions, both signs
    const auto word = static_cast<std::uint32_t>(bits);
    float x;
    std::memcpy(&x, &word, sizeof x);
    worst = std::max(worst, units_off(function(x), oracle(static_cast<double>(x))));
  }
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  for (const float x : {0.f, -0.f, 1.f, -1.f, infinity, -infinity, nan, 1e-45f, -1e-45f,
                        1.17549435e-38f, 3.40282347e38f, -3.40282347e38f, 88.7228317f, 88.72284f,
                        -87.33655f, -103.97208f, 0.5f, 8388608.f, -8388608.f})
    worst = std::max(worst, units_off(function(x), oracle(static_cast<double>(x))));
  return worst;
}

}  // namespace

#define CHECK_UNITS(name, limit)                            \
  CHECK(worst([](float x) { return Elementwise::name(x); }, \
              [](double x) { return std::name(x); }) <= limit)

TEST_CASE("float functions are within 2 ulp") {
  CHECK_UNITS(exp, 2);
  CHECK_UNITS(expm1, 2);
  CHECK_UNITS(log, 2);
  CHECK_UNITS(log1p, 2);
  CHECK_UNITS(tanh, 2);
  CHECK_UNITS(erf, 2);
  CHECK_UNITS(sqrt, 0.5);
  CHECK_UNITS(floor, 0);
  CHECK_UNITS(ceil, 0);
  CHECK_UNITS(abs, 0);
  CHECK_UNITS(sin, 2);
  CHECK_UNITS(cos, 2);
  CHECK_UNITS(rint, 0);
  CHECK(worst([](float x) { return Elementwise::normal_cdf(x); },
              [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }) <= 2);
}

TEST_CASE("sin and cos are accurate for floats close to multiples of pi/2") {
  // The float closest to a multiple (16367173 * 2^72), and others found by continued fractions.
  for (const float x : {0x1.f37c8ap+95f, 0x1.921fb6p+0f, 0x1.921fb6p+1f, 0x1.6ac5b2p+19f,
                        0x1.e58544p+40f, 0x1.2eb9dep+76f, 0x1.2f79cp+92f}) {
    CAPTURE(x);
    CHECK(units_off(Elementwise::sin(x), std::sin(static_cast<double>(x))) <= 2);
    CHECK(units_off(Elementwise::cos(x), std::cos(static_cast<double>(x))) <= 2);
    CHECK(units_off(Elementwise::sin(-x), std::sin(-static_cast<double>(x))) <= 2);
  }
}

TEST_CASE("pow of floats is within 2 ulp, and equals C's in all special cases") {
  const auto off = [](float base, float exponent) {
    return units_off(Elementwise::pow(base, exponent),
                     std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  };
  const float infinity = std::numeric_limits<float>::infinity(),
              nan = std::numeric_limits<float>::quiet_NaN();
  const float special[] = {0.f,       -0.f,    1.f,        -1.f,         2.f,        -2.f,
                           3.f,       -3.f,    0.5f,       -0.5f,        1.5f,       -2.5f,
                           1e-45f,    -1e-45f, 3.4e38f,    -3.4e38f,     16777215.f, -16777216.f,
                           8388609.f, 1e10f,   1.0000001f, -0.99999994f, 127.f,      128.f,
                           -149.f,    -150.f,  infinity,   -infinity,    nan};
  for (const float base : special)
    for (const float exponent : special) {
      CAPTURE(base);
      CAPTURE(exponent);
      CHECK(off(base, exponent) <= 2);
    }
  std::mt19937 random(1);
  std::uniform_real_distribution<float> mantissa(1, 2), product(-160, 140), near_one(0.99f, 1.01f);
  double worst = 0;
  for (int i = 0; i < 100'000; ++i) {
    const float base = std::ldexp(mantissa(random), static_cast<int>(random() % 276) - 149),
                size = near_one(random);
    worst = std::max(worst, off(base, product(random) / std::log2(base)));
    worst = std::max(worst, off(size, product(random) / std::log2(size)));
  }
  CHECK(worst <= 2);
}

#if defined(TENON_WIDE_LEVELS)
TEST_CASE("loops over these functions give the bits of single calls at each vector level") {
  std::vector<float> x;
  for (std::uint64_t bits = 0; bits < std::uint64_t(1) << 32; bits += 262'147)
    x.push_back(tenon::bits_as<float>(static_cast<std::uint32_t>(bits)));
  const auto check = [&](auto function) {
    for (const auto level : by_hand::vector_levels()) {
      const by_hand::AtLevel at(level);
      std::vector<float> y(x.size());
      tenon::elementwise::for_each(
          static_cast<std::int64_t>(x.size()),
          [=, from = x.data(), to = y.data()](std::int64_t i) { to[i] = function(from[i]); });
      std::size_t different = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const float right = function(x[i]);
        different += std::isnan(right) ? !std::isnan(y[i])
                                       : tenon::bits_as<std::uint32_t>(right) !=
                                             tenon::bits_as<std::uint32_t>(y[i]);
      }
      CHECK(different == 0);
    }
  };
  check([](float v) { return Elementwise::exp(v); });
  check([](float v) { return Elementwise::expm1(v); });
  check([](float v) { return Elementwise::log(v); });
  check([](float v) { return Elementwise::log1p(v); });
  check([](float v) { return Elementwise::tanh(v); });
  check([](float v) { return Elementwise::erf(v); });
  check([](float v) { return Elementwise::normal_cdf(v); });
  check([](float v) { return Elementwise::sin(v); });
  check([](float v) { return Elementwise::cos(v); });
  check([](float v) { return Elementwise::pow(v, 1.7f); });
  check([](float v) { return Elementwise::pow(2.5f, v); });
  check([](float v) { return Elementwise::sqrt(v); });
  check([](float v) { return Elementwise::floor(v); });
  check([](float v) { return Elementwise::rint(v); });
}
#endif

TEST_CASE("functions accept every number type") {
  static_assert(std::is_same_v<decltype(Elementwise::exp(half(1.f))), float>);
  static_assert(std::is_same_v<decltype(Elementwise::exp(1)), double>);
  static_assert(std::is_same_v<decltype(Elementwise::abs(std::int8_t(1))), std::int8_t>);
  static_assert(
      std::is_same_v<decltype(Elementwise::max(tenon::Dual<float>(1), 0)), tenon::Dual<float>>);
  static_assert(std::is_same_v<decltype(Elementwise::pow(2, tenon::Dual<tenon::Dual<double>>(1))),
                               tenon::Dual<tenon::Dual<double>>>);
  CHECK(Elementwise::exp(1) == doctest::Approx(2.718281828459045).epsilon(1e-15));
  CHECK(Elementwise::cosh(half(0.f)) == 1);
  CHECK(Elementwise::tan(0.5) == std::tan(0.5));
  CHECK(Elementwise::sinh(0.5f) == std::sinh(0.5f));
  CHECK(Elementwise::asin(half(1.f)) == std::asin(1.f));
  CHECK(Elementwise::acosh(2) == doctest::Approx(1.3169578969248167).epsilon(1e-15));
}

TEST_CASE("integers") {
  CHECK(Elementwise::abs(std::int32_t(-3)) == 3);
  CHECK(Elementwise::abs(std::numeric_limits<std::int32_t>::min()) ==
        std::numeric_limits<std::int32_t>::min());
  CHECK(Elementwise::abs(std::int8_t(-128)) == -128);
  CHECK(Elementwise::floor(7) == 7);
  CHECK(Elementwise::rint(std::int64_t(9007199254740993)) == 9007199254740993);
  CHECK(Elementwise::ceil(std::uint8_t(255)) == 255);
  CHECK(Elementwise::min(std::int64_t(-5), std::int64_t(3)) == -5);
  CHECK(Elementwise::max(true, false) == true);
  const struct {
    std::int32_t base, exponent, power;
  } powers[] = {{2, 10, 1024}, {-3, 3, -27}, {0, 0, 1},   {0, 5, 0},          {2, -1, 0},
                {1, -7, 1},    {-1, -7, -1}, {-1, -8, 1}, {3, 40, 689956897}, {2, 32, 0}};
  for (const auto& [base, exponent, power] : powers)
    CHECK(Elementwise::pow(base, exponent) == power);
}

TEST_CASE("min and max propagate NaN from either side") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [left, right] :
       {std::pair(nan, 1.f), std::pair(1.f, nan), std::pair(nan, nan)}) {
    CHECK(std::isnan(Elementwise::min(left, right)));
    CHECK(std::isnan(Elementwise::max(left, right)));
  }
  CHECK(Elementwise::min(1.f, 2.f) == 1);
  CHECK(Elementwise::max(1.f, 2.f) == 2);
  CHECK(Elementwise::where(true, 1.f, nan) == 1);
  CHECK(Elementwise::where(false, nan, 1) == 1);
}

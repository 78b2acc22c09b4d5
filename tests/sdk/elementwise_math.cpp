// The float functions of elementwise operators against the C library's in double, over floats of all magnitudes.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <tenon/elementwise.hpp>

namespace {

using tenon::Elementwise;
using tenon::half;

/// The error of a float in units of the last place of the right result; huge where one is NaN or infinite and the other is not.
double units_off(float found, double right) {
  if (std::isnan(right) || std::isnan(found)) return std::isnan(right) && std::isnan(found) ? 0 : 1e9;
  const auto rounded = static_cast<float>(right);
  if (std::isinf(rounded) || std::isinf(found))
    return found == rounded ? 0 : std::fabs(right) > 0x1.fffffep127 && !std::isinf(right) ? 1 : 1e9;
  if (right == 0) return found == 0 && std::signbit(found) == std::signbit(right) ? 0 : 1e9;
  int exponent;
  std::frexp(right, &exponent);
  return std::fabs(found - right) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

template <class Float, class Double>
double worst(Float function, Double oracle) {
  double worst = 0;
  for (std::uint64_t bits = 0; bits < std::uint64_t(1) << 32; bits += 1021) {  // a prime: every exponent with many fractions, both signs
    const auto word = static_cast<std::uint32_t>(bits);
    float x;
    std::memcpy(&x, &word, sizeof x);
    worst = std::max(worst, units_off(function(x), oracle(static_cast<double>(x))));
  }
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const float x : {0.f, -0.f, 1.f, -1.f, infinity, -infinity, nan, 1e-45f, -1e-45f, 1.17549435e-38f, 3.40282347e38f, -3.40282347e38f,
                        88.7228317f, 88.72284f, -87.33655f, -103.97208f, 0.5f, 8388608.f, -8388608.f})
    worst = std::max(worst, units_off(function(x), oracle(static_cast<double>(x))));
  return worst;
}

}  // namespace

#define CHECK_UNITS(name, limit) CHECK(worst([](float x) { return Elementwise::name(x); }, [](double x) { return std::name(x); }) <= limit)

TEST_CASE("float functions are within 2 units in the last place of the right result") {
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
}

TEST_CASE("functions take every kind of number") {
  static_assert(std::is_same_v<decltype(Elementwise::exp(half(1.f))), float>);
  static_assert(std::is_same_v<decltype(Elementwise::exp(1)), double>);
  static_assert(std::is_same_v<decltype(Elementwise::abs(std::int8_t(1))), std::int8_t>);
  static_assert(std::is_same_v<decltype(Elementwise::max(tenon::Dual<float>(1), 0)), tenon::Dual<float>>);
  static_assert(std::is_same_v<decltype(Elementwise::pow(2, tenon::Dual<tenon::Dual<double>>(1))), tenon::Dual<tenon::Dual<double>>>);
  CHECK(Elementwise::exp(1) == doctest::Approx(2.718281828459045).epsilon(1e-15));
  CHECK(Elementwise::cosh(half(0.f)) == 1);
  CHECK(Elementwise::tan(0.5) == std::tan(0.5));
  CHECK(Elementwise::sinh(0.5f) == std::sinh(0.5f));
}

TEST_CASE("whole numbers") {
  CHECK(Elementwise::abs(std::int32_t(-3)) == 3);
  CHECK(Elementwise::abs(std::numeric_limits<std::int32_t>::min()) == std::numeric_limits<std::int32_t>::min());
  CHECK(Elementwise::abs(std::int8_t(-128)) == -128);
  CHECK(Elementwise::floor(7) == 7);
  CHECK(Elementwise::ceil(std::uint8_t(255)) == 255);
  CHECK(Elementwise::min(std::int64_t(-5), std::int64_t(3)) == -5);
  CHECK(Elementwise::max(true, false) == true);
  const struct {
    std::int32_t base, exponent, power;
  } powers[] = {{2, 10, 1024}, {-3, 3, -27}, {0, 0, 1},   {0, 5, 0},          {2, -1, 0},
                {1, -7, 1},    {-1, -7, -1}, {-1, -8, 1}, {3, 40, 689956897}, {2, 32, 0}};
  for (const auto& [base, exponent, power] : powers) CHECK(Elementwise::pow(base, exponent) == power);
}

TEST_CASE("min and max pass NaN on, from either side") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [left, right] : {std::pair(nan, 1.f), std::pair(1.f, nan), std::pair(nan, nan)}) {
    CHECK(std::isnan(Elementwise::min(left, right)));
    CHECK(std::isnan(Elementwise::max(left, right)));
  }
  CHECK(Elementwise::min(1.f, 2.f) == 1);
  CHECK(Elementwise::max(1.f, 2.f) == 2);
  CHECK(Elementwise::where(true, 1.f, nan) == 1);
  CHECK(Elementwise::where(false, nan, 1) == 1);
}

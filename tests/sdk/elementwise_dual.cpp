// Derivatives by dual numbers, compared with central differences, or with the documented values at
// points without a derivative.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <tenon/elementwise.hpp>

namespace {

using E = tenon::Elementwise;
using tenon::Dual;

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
T slope_at(auto f, T x) {
  return f(Dual<T>(x, T(1))).slope;
}

void check_slope(const char* name, auto f, std::initializer_list<double> places) {
  for (const double x : places) {
    CAPTURE(name);
    CAPTURE(x);
    const double h = 1e-6, expected = (f(x + h) - f(x - h)) / (2 * h);
    CHECK(slope_at(f, x) == doctest::Approx(expected).epsilon(1e-7));
    CHECK(slope_at(f, static_cast<float>(x)) == doctest::Approx(expected).epsilon(1e-4));
    const double second = (slope_at(f, x + h) - slope_at(f, x - h)) / (2 * h);
    CHECK(f(Dual<Dual<double>>(Dual<double>(x, 1), Dual<double>(1))).slope.slope ==
          doctest::Approx(second).epsilon(1e-6));
    CHECK(f(Dual<double>(x, 1)).value == f(x));
  }
}

}  // namespace

#define CHECK_SLOPE(function, ...) \
  check_slope(                     \
      #function, [](auto x) { return E::function(x); }, __VA_ARGS__)

TEST_CASE("first and second derivatives of every function") {
  CHECK_SLOPE(exp, {-2, 0, 1.5});
  CHECK_SLOPE(expm1, {-2, 0, 1.5});
  CHECK_SLOPE(log, {0.25, 1, 3});
  CHECK_SLOPE(log1p, {-0.5, 0, 3});
  CHECK_SLOPE(sqrt, {0.25, 1, 3});
  CHECK_SLOPE(sin, {-2, 0, 1.5});
  CHECK_SLOPE(cos, {-2, 0, 1.5});
  CHECK_SLOPE(tan, {-1, 0, 1.25});
  CHECK_SLOPE(sinh, {-2, 0, 1.5});
  CHECK_SLOPE(cosh, {-2, 0, 1.5});
  CHECK_SLOPE(tanh, {-2, 0, 1.5});
  CHECK_SLOPE(erf, {-2, 0, 1.5});
  CHECK_SLOPE(abs, {-2, 1.5});
  CHECK_SLOPE(floor, {-1.5, 2.5});
  CHECK_SLOPE(ceil, {-1.5, 2.5});
}

TEST_CASE("arithmetic mixes duals with literals and members of other types") {
  check_slope("polynomial", [](auto x) { return 0.5f * x * x - 3 * x + 2.0; }, {-1, 0, 2});
  check_slope("quotient", [](auto x) { return (1 - x) / (x * x + 2); }, {-1, 0, 2});
  check_slope("assignments",
              [](auto x) {
                auto y = x;
                y += 2;
                y *= x;
                y -= x;
                y /= 3 + x;
                return -y;
              },
              {-1, 0, 2});
  check_slope("pow by base", [](auto x) { return E::pow(x, 2.5f); }, {0.5, 1, 3});
  check_slope("pow by exponent", [](auto x) { return E::pow(3, x); }, {-0.5, 0, 2});
  check_slope("pow by both", [](auto x) { return E::pow(x, x); }, {0.5, 1, 2});
  check_slope("min and max", [](auto x) { return E::min(E::max(x, 0), 2.f) * x; }, {-1, 1, 3});
  check_slope("where", [](auto x) { return E::where(x > 1, x * x, 3 * x); }, {-1, 2});
}

TEST_CASE("points without a derivative, or with an infinite one") {
  CHECK(slope_at([](auto x) { return E::abs(x); }, 0.) == 0);
  CHECK(slope_at([](auto x) { return E::max(x, 0); }, 0.) == 0);
  CHECK(slope_at([](auto x) { return E::max(0, x); }, 0.) == 1);
  CHECK(slope_at([](auto x) { return E::sqrt(x); }, 0.) == infinity);
  CHECK(std::isnan(slope_at([](auto x) { return E::max(x, 1); }, std::nan(""))) == false);
  // A constant has a zero derivative, however large the factor.
  CHECK(slope_at([](auto x) { return E::sqrt(x * x); }, 0.) == 0);
  CHECK(slope_at([](auto x) { return E::where(x > 0, E::log(x), x); }, 0.) == 1);
  CHECK(slope_at([](auto x) { return x * decltype(x)(2.); }, infinity) == 2);
  CHECK(slope_at([](auto x) { return E::pow(x, 2); }, 0.) == 0);
  CHECK(slope_at([](auto x) { return E::pow(x, 1); }, 0.) == 1);
  CHECK(slope_at([](auto x) { return E::pow(x, 0); }, 0.) == 0);
  CHECK(slope_at([](auto x) { return E::pow(x, 3); }, -2.) == 12);
  CHECK(slope_at([](auto x) { return E::pow(0, x); }, 2.) == 0);
}

TEST_CASE("duals compare by value and convert explicitly to numbers") {
  const Dual<double> one(1, 5), two(2, 3);
  CHECK((one < two && two > one && one <= one && two >= two && one == 1 && two != 1));
  CHECK(static_cast<int>(two) == 2);
}

// Multi-versioned loops: every level gives the same bits, and the machine supports the selected
// one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <tenon/elementwise.hpp>
#include <vector>

#include "vector_levels.hpp"

TEST_CASE("a wide body's result and exceptions are returned") {
  int calls = 0;
  CHECK(tenon::wide([&] { return ++calls; }) == 1);
  CHECK_THROWS_WITH_AS(tenon::wide([] { throw std::runtime_error("inside"); }), "inside",
                       std::runtime_error);
  CHECK(calls == 1);
}

#if defined(TENON_WIDE_LEVELS)
namespace {

using by_hand::AtLevel;
using by_hand::VectorLevel;

/// Code that a compiler would contract, and sums that it would reorder, if it were allowed to.
struct Polynomial : tenon::Elementwise {
  float a = 0.3f, b = 1.7f;
  static constexpr void describe(auto& op) {
    op.doc("a x^2 + b x + x / 3");
    op.input("x", "any shape");
    op.output("y", "same shape");
  }
  template <class T>
  TENON_FN T operator()(T x) const {
    return a * x * x + b * x + x / T(3);
  }
};

template <class T>
std::vector<T> numbers(std::int64_t n) {
  std::vector<T> x;
  for (std::int64_t i = 0; i < n; ++i)
    x.push_back(
        static_cast<T>(std::sin(static_cast<double>(i)) * 1000 / static_cast<double>(1 + i % 7)));
  return x;
}

/// The loop over n numbers; nothing is assumed about what follows them in memory.
template <class T>
std::vector<T> results(VectorLevel level, const std::vector<T>& x, std::int64_t n, bool in_place) {
  const AtLevel at(level);
  const Polynomial op;
  std::vector<T> y = in_place ? x : std::vector<T>(x.size(), T(-1));
  const void* in[] = {in_place ? y.data() : x.data()};
  tenon::elementwise::loops<Polynomial, T>.forward(&op, in, y.data(), n);
  return y;
}

template <class T>
void check_levels() {
  const Polynomial op;
  const auto x = numbers<T>(400);
  for (const auto level : by_hand::vector_levels())
    for (const bool in_place : {false, true})
      for (std::int64_t n = 0; n <= 300; n += n < 100 ? 1 : 23) {
        CAPTURE(n);
        CAPTURE(static_cast<int>(level));
        std::vector<T> right = in_place ? x : std::vector<T>(x.size(), T(-1));
        for (std::int64_t i = 0; i < n; ++i)
          right[static_cast<std::size_t>(i)] = op(x[static_cast<std::size_t>(i)]);
        const auto found = results(level, x, n, in_place);
        REQUIRE(std::memcmp(found.data(), right.data(), right.size() * sizeof(T)) == 0);
      }
}

}  // namespace

TEST_CASE("elementwise loops of any length give the same bits at each vector level") {
  check_levels<float>();
  check_levels<double>();
}

TEST_CASE("the level is one that the machine's CPU flags support") {
  std::ifstream file("/proc/cpuinfo");
  std::string line, flags;
  while (std::getline(file, line) && flags.empty())
    if (line.rfind("flags", 0) == 0) flags = line + " ";
  if (flags.empty()) return;
  const auto has = [&](const char* flag) {
    return flags.find(" " + std::string(flag) + " ") != std::string::npos;
  };
  const bool v3 = has("avx2") && has("fma") && has("f16c") && has("bmi1") && has("bmi2") &&
                  has("abm") && has("movbe");
  const bool v4 = v3 && has("avx512f") && has("avx512bw") && has("avx512vl") && has("avx512dq") &&
                  has("avx512cd");
  CHECK(tenon::detail::vector_level_of_processor() == (v4   ? VectorLevel::v4
                                                       : v3 ? VectorLevel::v3
                                                            : VectorLevel::plain));
}

TEST_CASE("TENON_WIDE limits the level, and invalid values are rejected") {
  const char* const found = std::getenv("TENON_WIDE");
  const std::string before = found ? found : "";
  const auto level_with = [](const char* value) {
    const AtLevel at(VectorLevel::unknown);
    setenv("TENON_WIDE", value, 1);
    return tenon::detail::usable_vector_level();
  };
  CHECK(level_with("plain") == VectorLevel::plain);
  CHECK(level_with("v3") == std::min(VectorLevel::v3, tenon::detail::vector_level_of_processor()));
  CHECK(level_with("v4") == tenon::detail::vector_level_of_processor());
  CHECK(level_with("") == tenon::detail::vector_level_of_processor());
  CHECK_THROWS_WITH_AS(level_with("avx"),
                       "TENON_WIDE is avx; set it to plain, v3 or v4, or not at all", tenon::Error);
  found ? setenv("TENON_WIDE", before.c_str(), 1) : unsetenv("TENON_WIDE");
}
#endif

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <tenon/host/schedule.hpp>
#include <vector>

#include "../failure_of.hpp"

using tenon::Schedule;
using Kind = tenon::Schedule::Kind;

TEST_CASE("schedule: constant, step and cosine learning rates, each after a warm-up") {
  const double half_way = 0.5 + 0.5 * (2 - 0.5) * (1 + std::cos(M_PI * 0.25));
  const struct {
    Schedule schedule;
    std::vector<std::pair<std::uint64_t, double>> rates;
  } rows[] = {
      {{Kind::constant, 0.5}, {{0, 0.5}, {1, 0.5}, {UINT64_MAX, 0.5}}},
      {{Kind::constant, 1, 4}, {{0, 0.25}, {1, 0.5}, {3, 1}, {4, 1}, {100, 1}}},
      {{Kind::step, 1, 0, 10, 0.5}, {{0, 1}, {9, 1}, {10, 0.5}, {19, 0.5}, {20, 0.25}}},
      {{Kind::step, 1, 2, 10, 0.5}, {{0, 0.5}, {1, 1}, {2, 1}, {11, 1}, {12, 0.5}}},
      {{Kind::cosine, 2, 0, 1, 1, 100, 0.5},
       {{0, 2}, {25, half_way}, {50, 1.25}, {100, 0.5}, {1000, 0.5}}},
      {{Kind::cosine, 2, 100, 1, 1, 200, 0.5},
       {{0, 0.02}, {99, 2}, {100, 2}, {125, half_way}, {150, 1.25}, {200, 0.5}}},
      {{Kind::cosine, 2, 100, 1, 1, 50, 0.5}, {{99, 2}, {100, 2}, {101, 0.5}}},
  };
  for (const auto& row : rows)
    for (const auto& [number, rate] : row.rates) {
      const auto step = number;  // clang 14 cannot capture structured bindings
      CAPTURE(step);
      CHECK(row.schedule.at(step) == doctest::Approx(rate).epsilon(1e-12));
    }
}

TEST_CASE("schedule: invalid learning rates are refused") {
  const struct {
    Schedule schedule;
    const char* message;
  } rows[] = {
      {{Kind::constant, -1}, "the learning rate is -1 but must be a finite number, 0 or more"},
      {{Kind::constant, std::numeric_limits<double>::quiet_NaN()},
       "the learning rate is nan but must be a finite number, 0 or more"},
      {{Kind::step, 1, 0, 0}, "the number of steps between decays is 0 but must be at least 1"},
      {{Kind::step, 1, 0, 1, HUGE_VAL},
       "the decay factor of the learning rate is inf but must be a finite number, 0 or more"},
      {{Kind::cosine, 1, 0, 1, 1, 1, -1},
       "the final learning rate is -1 but must be a finite number, 0 or more"},
      {{Kind::constant, 0}, ""},
  };
  for (const auto& row : rows) {
    const auto failure = failure_of([&] { row.schedule.check(); });
    CHECK(failure.message == row.message);
    CHECK(failure_of([&] { row.schedule.at(3); }).message == row.message);
  }
}

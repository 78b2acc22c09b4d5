#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tenon/host/failure.hpp>
#include <tenon/host/schedule.hpp>

namespace tenon {

double Schedule::at(std::uint64_t step) const {
  check();
  if (step < warm_up) return rate * static_cast<double>(step + 1) / static_cast<double>(warm_up);
  const auto after = step - warm_up;
  if (kind == Kind::step) {
    const auto decays = after / every;
    return rate * std::pow(factor, static_cast<double>(decays));
  }
  if (kind == Kind::constant) return rate;
  const auto length = total > warm_up ? total - warm_up : 1;
  const double progress =
      static_cast<double>(std::min(after, length)) / static_cast<double>(length);
  return end + (rate - end) * (1 + std::cos(progress * 3.141592653589793)) / 2;
}

void Schedule::check() const {
  const auto require = [](bool holds, const char* what, double found, const char* needed) {
    if (!holds)
      throw Failure(FailureKind::usage,
                    fmt::format("the {} is {} but must be {}", what, found, needed));
  };
  const auto is_valid = [](double number) { return std::isfinite(number) && number >= 0; };
  require(is_valid(rate), "learning rate", rate, "a finite number, 0 or more");
  require(is_valid(end), "final learning rate", end, "a finite number, 0 or more");
  require(is_valid(factor), "decay factor of the learning rate", factor,
          "a finite number, 0 or more");
  require(every > 0, "number of steps between decays", 0, "at least 1");
}

}  // namespace tenon

#include <fmt/format.h>

#include <cmath>

#include "cli/check/accepted_attributes.hpp"
#include "cli/check/check.hpp"

namespace tenon::cli {
namespace {

bool is_integer(ParamKind kind) {
  return kind == ParamKind::int32 || kind == ParamKind::int64 || kind == ParamKind::ints;
}

/// Numbers just outside the bounds.
std::vector<double> outside(const ParamInfo& param) {
  const auto step = [&](double bound) { return is_integer(param.kind) ? 1.0 : 1e-3 * (1 + std::abs(bound)); };
  std::vector<double> numbers;
  if (param.min) numbers.push_back(*param.min - step(*param.min));
  if (param.max) numbers.push_back(*param.max + step(*param.max));
  if (param.above) numbers.push_back(*param.above);
  if (param.below) numbers.push_back(*param.below);
  return numbers;
}

}  // namespace

Outcome check_bounds(const Subject& subject) {
  const AcceptedAttributes accepted(subject.op);
  if (!accepted.found()) return skipped("no parameters were found that it accepts: " + accepted.refusal());
  int count = 0;
  for (const auto& param : subject.op.info->params) {
    for (const double number : outside(param)) {
      const auto integer = static_cast<std::int64_t>(number);
      auto attributes = accepted.all();
      for (auto& attribute : attributes) {
        if (attribute.name != param.name) continue;
        attribute.i = integer;
        attribute.f = number;
        if (param.kind == ParamKind::ints || param.kind == ParamKind::floats) attribute.count = 1;
        if (param.kind == ParamKind::ints) attribute.ints = &integer;
        if (param.kind == ParamKind::floats) attribute.floats = &number;
      }
      if (!accepted.refusal_of(attributes))
        return failed(fmt::format("parameter '{}' is outside its bounds with {}, but it is accepted", param.name, number));
      ++count;
    }
  }
  if (count == 0) return skipped("no parameter has a bound");
  return passed(fmt::format("{} numbers outside were refused", count));
}

}  // namespace tenon::cli

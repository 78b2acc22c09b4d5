#include <algorithm>
#include <cmath>

#include "cli/check/sample.hpp"

namespace tenon::cli {
namespace {

constexpr int base_sets = 5;

double within(const ParamInfo& param, double value) {
  if (param.min) value = std::max(value, *param.min);
  if (param.max) value = std::min(value, *param.max);
  if (param.above && value <= *param.above) value = *param.above + 1;
  if (param.below && value >= *param.below) value = *param.below - 1;
  return value;
}

// Lists that belong together (a begin and an end) have one length and grow from one parameter to the next.
std::vector<std::int64_t> ints(int set, int position) {
  static const std::vector<std::int64_t> choices[base_sets] = {{1, 2}, {1}, {-1}, {2, 2, 2}, {}};
  auto values = choices[set];
  for (auto& value : values) value += value > 0 ? position : 0;
  return values;
}

AttributeValue value_for(const ParamInfo& param, int set, int position) {
  static constexpr int numbers[base_sets] = {2, 3, 4, 5, 6};  // not 1: indices below such a number are 0 and 1
  switch (param.kind) {
    case ParamKind::boolean:
      return set % 2 != 0;
    case ParamKind::int32:
    case ParamKind::int64:
      return static_cast<std::int64_t>(std::llround(within(param, numbers[set])));
    case ParamKind::float32:
    case ParamKind::float64:
      return within(param, 0.25 * (position + 1) + set);
    case ParamKind::choice:
      return param.choices[static_cast<std::size_t>(set) % param.choices.size()];
    case ParamKind::text:
      return param.choices.empty() ? std::string("text") : param.choices.front();
    case ParamKind::ints: {
      auto values = ints(set, position);
      for (auto& value : values) value = std::llround(within(param, static_cast<double>(value)));
      return values;
    }
    case ParamKind::floats:
      break;
  }
  std::vector<double> values;
  for (const auto value : ints(set, position)) values.push_back(within(param, static_cast<double>(value)));
  return values;
}

// A switch turned, or another choice.
void add_variants(const OperatorInfo& info, const Attributes& base, std::vector<Attributes>& sets) {
  for (const auto& param : info.params) {
    if (param.required) continue;
    const auto with = [&](AttributeValue value) {
      if (value == param.default_value) return;
      sets.push_back(base);
      sets.back().set(param.name, std::move(value));
    };
    if (param.kind == ParamKind::boolean)
      with(param.default_value == AttributeValue(false));
    else
      for (const auto& choice : param.choices) with(choice);
  }
}

}  // namespace

std::vector<Attributes> parameter_sets(const OperatorInfo& info) {
  std::vector<Attributes> bases;
  const bool any_required = std::any_of(info.params.begin(), info.params.end(), [](const auto& param) { return param.required; });
  for (int set = 0; set < (any_required ? base_sets : 1); ++set) {
    auto& base = bases.emplace_back();
    int position = 0;
    for (const auto& param : info.params)
      if (param.required) base.set(param.name, value_for(param, set, position++));
  }
  auto sets = bases;
  for (const auto& base : bases) add_variants(info, base, sets);
  return sets;
}

}  // namespace tenon::cli

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "plugin/discovery/manifest_parts.hpp"

namespace tenon {
namespace {

/// In the order of ParamKind.
constexpr std::array kinds = {"bool", "int32", "int64", "float32", "float64", "text", "ints", "floats", "enum"};

ParamKind read_kind(const ManifestField& field) {
  const std::string name = field.text();
  const auto* found = std::find(kinds.begin(), kinds.end(), name);
  if (found == kinds.end()) field.fail("is " + in_quotes(name) + ", which is no kind of parameter");
  return static_cast<ParamKind>(found - kinds.begin());
}

bool has_choices(ParamKind kind) {
  return kind == ParamKind::choice || kind == ParamKind::text;
}

bool has_bounds(ParamKind kind) {
  return kind != ParamKind::boolean && !has_choices(kind);
}

template <class T>
std::vector<T> read_numbers(const ManifestField& list) {
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min(), highest = std::numeric_limits<std::int64_t>::max();
  std::vector<T> values;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if constexpr (std::is_same_v<T, double>) {
      values.push_back(list.at(i).number_or_nan());
    } else {
      values.push_back(list.at(i).integer(lowest, highest));
    }
  }
  return values;
}

double read_float32(const ManifestField& field) {
  const double value = field.number_or_nan();
  if (std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max()) field.fail("is too large for a float32");
  return value;
}

std::string read_choice(const ManifestField& field, const std::vector<std::string>& choices) {
  std::string name = field.text();
  if (std::find(choices.begin(), choices.end(), name) == choices.end())
    field.fail("is " + in_quotes(name) + ", which is not among its choices");
  return name;
}

AttributeValue read_default(const ManifestField& field, const ParamInfo& param) {
  using Limits32 = std::numeric_limits<std::int32_t>;
  using Limits64 = std::numeric_limits<std::int64_t>;
  switch (param.kind) {
    case ParamKind::boolean:
      return field.boolean();
    case ParamKind::int32:
      return field.integer(Limits32::min(), Limits32::max());
    case ParamKind::int64:
      return field.integer(Limits64::min(), Limits64::max());
    case ParamKind::float32:
      return read_float32(field);
    case ParamKind::float64:
      return field.number_or_nan();
    case ParamKind::text:
      return param.choices.empty() || param.required ? field.text() : read_choice(field, param.choices);
    case ParamKind::ints:
      return read_numbers<std::int64_t>(field);
    case ParamKind::floats:
      return read_numbers<double>(field);
    case ParamKind::choice:
      return read_choice(field, param.choices);
  }
  field.fail("has no kind");
}

std::optional<double> read_bound(const ManifestField& field, ParamKind kind) {
  if (!field.is_null() && !has_bounds(kind)) field.fail("is a bound of a parameter that is neither a number nor a list of numbers");
  return field.optional_number();
}

std::vector<std::string> read_choices(const ManifestField& list, ParamKind kind) {
  if (!has_choices(kind) && list.size() > 0) list.fail("is given for a parameter that is neither an enum nor a text");
  if (kind == ParamKind::choice && list.size() == 0) list.fail("is empty; an enum needs at least one");
  std::vector<std::string> choices;
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::string name = list.at(i).text();
    if (name.empty()) list.at(i).fail("is empty");
    if (std::find(choices.begin(), choices.end(), name) != choices.end()) list.at(i).fail("is " + in_quotes(name) + " once more");
    choices.push_back(std::move(name));
  }
  return choices;
}

/// A NaN meets no bound.
bool meets_bounds(const ParamInfo& param, double value) {
  return (!param.min || value >= *param.min) && (!param.max || value <= *param.max) && (!param.above || value > *param.above) &&
         (!param.below || value < *param.below);
}

bool default_meets_bounds(const ParamInfo& param) {
  const auto meets = [&](auto value) { return meets_bounds(param, static_cast<double>(value)); };
  const auto& value = param.default_value.variant();
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return meets(*integer);
  if (const auto* number = std::get_if<double>(&value)) return meets(*number);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return std::all_of(list->begin(), list->end(), meets);
  if (const auto* list = std::get_if<std::vector<double>>(&value)) return std::all_of(list->begin(), list->end(), meets);
  return true;
}

void check_bounds(const ManifestField& entry, const ParamInfo& param) {
  const double lowest = std::max(param.min.value_or(-HUGE_VAL), param.above.value_or(-HUGE_VAL));
  const double highest = std::min(param.max.value_or(HUGE_VAL), param.below.value_or(HUGE_VAL));
  const bool open = param.above == lowest || param.below == highest;
  if (lowest > highest || (lowest == highest && open)) entry.fail("has bounds that no value can meet");
  // A required parameter has no default that anybody gets: its member may start with anything, often 0.
  if (!param.required && !default_meets_bounds(param)) entry["default"].fail("does not meet the parameter's own bounds");
}

}  // namespace

ParamInfo read_param(const ManifestField& entry) {
  ParamInfo param;
  param.name = entry["name"].identifier();
  param.doc = entry["doc"].text();
  param.kind = read_kind(entry["kind"]);
  param.required = entry["required"].boolean();
  param.choices = read_choices(entry["choices"], param.kind);
  param.default_value = read_default(entry["default"], param);
  param.min = read_bound(entry["min"], param.kind);
  param.max = read_bound(entry["max"], param.kind);
  param.above = read_bound(entry["above"], param.kind);
  param.below = read_bound(entry["below"], param.kind);
  check_bounds(entry, param);
  return param;
}

}  // namespace tenon

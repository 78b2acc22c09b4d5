#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tenon/visit.hpp>

#include "plugin/discovery/manifest_readers.hpp"

namespace tenon {
namespace {

/// Indexed by ParamKind.
constexpr std::array<std::string_view, 11> kinds = {"bool",    "int32", "int64", "float32",
                                                    "float64", "text",  "ints",  "floats",
                                                    "enum",    "texts", "tensor"};

ParamKind read_kind(const JsonField& field) {
  const std::string name = plain_text(field);
  const auto* found = std::find(kinds.begin(), kinds.end(), name);
  if (found == kinds.end())
    field.refuse("is {}, which is not a kind of parameter", in_quotes(name));
  return static_cast<ParamKind>(found - kinds.begin());
}

bool has_choices(ParamKind kind) {
  return kind == ParamKind::choice || kind == ParamKind::text || kind == ParamKind::texts;
}

bool has_bounds(ParamKind kind) {
  return kind != ParamKind::boolean && !has_choices(kind);
}

template <class T>
std::vector<T> read_numbers(const JsonField& list) {
  std::vector<T> values;
  for (const auto& item : list.list()) {
    if constexpr (std::is_same_v<T, double>)
      values.push_back(item.number());
    else
      values.push_back(item.integer());
  }
  return values;
}

double read_float32(const JsonField& field) {
  const double value = field.number();
  if (std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max())
    field.refuse("is too large for a float32");
  return value;
}

std::string read_choice(const JsonField& field, const std::vector<std::string>& choices) {
  std::string name = plain_text(field);
  if (std::find(choices.begin(), choices.end(), name) == choices.end())
    field.refuse("is {}, which is not among its choices", in_quotes(name));
  return name;
}

std::vector<std::string> read_words(const JsonField& list, const ParamInfo& param) {
  const bool any = param.choices.empty() || param.required;
  std::vector<std::string> words;
  for (const auto& item : list.list())
    words.push_back(any ? plain_text(item) : read_choice(item, param.choices));
  return words;
}

Tensor read_table(const JsonField& list, DType dtype) {
  return visit<table_types>(dtype, [&]<class T>() {
    std::vector<T> values;
    for (const auto& item : list.list()) {
      if constexpr (std::is_integral_v<T>)
        values.push_back(static_cast<T>(
            item.integer({}, std::numeric_limits<T>::min(), std::numeric_limits<T>::max())));
      else
        values.push_back(
            static_cast<T>(std::is_same_v<T, float> ? read_float32(item) : item.number()));
    }
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())});
  });
}

AttributeValue read_default(const JsonField& field, const ParamInfo& param) {
  using Limits32 = std::numeric_limits<std::int32_t>;
  switch (param.kind) {
    case ParamKind::boolean:
      return field.boolean();
    case ParamKind::int32:
      return field.integer({}, Limits32::min(), Limits32::max());
    case ParamKind::int64:
      return field.integer();
    case ParamKind::float32:
      return read_float32(field);
    case ParamKind::float64:
      return field.number();
    case ParamKind::text:
      return param.choices.empty() || param.required ? plain_text(field)
                                                     : read_choice(field, param.choices);
    case ParamKind::ints:
      return read_numbers<std::int64_t>(field);
    case ParamKind::floats:
      return read_numbers<double>(field);
    case ParamKind::choice:
      return read_choice(field, param.choices);
    case ParamKind::texts:
      return read_words(field, param);
    case ParamKind::tensor:
      return read_table(field, *param.dtype);
  }
  field.refuse("has no kind");
}

DType read_table_dtype(const JsonField& field) {
  const auto dtype = read_dtype(field);
  if (!table_types.has(dtype))
    field.refuse("is {}, but a tensor parameter is int32, int64, float32 or float64",
                 name_of(dtype));
  return dtype;
}

std::optional<double> read_bound(const JsonField& field, ParamKind kind) {
  if (!field.is_null() && !has_bounds(kind))
    field.refuse("bounds a parameter that is neither a number nor a list of numbers");
  return field.is_null() ? std::nullopt : std::optional(not_nan(field));
}

std::vector<std::string> read_choices(const JsonField& list, ParamKind kind) {
  if (!has_choices(kind) && list.size() > 0) list.refuse("needs an enum or text parameter");
  if (kind == ParamKind::choice && list.size() == 0)
    list.refuse("is empty; an enum needs at least one choice");
  std::vector<std::string> choices;
  for (const auto& item : list.list()) {
    std::string name = plain_text(item);
    if (name.empty()) item.refuse("is empty");
    if (std::find(choices.begin(), choices.end(), name) != choices.end())
      item.refuse("is {}, which is already in the list", in_quotes(name));
    choices.push_back(std::move(name));
  }
  return choices;
}

/// NaN satisfies no bound.
bool meets_bounds(const ParamInfo& param, double value) {
  return (!param.min || value >= *param.min) && (!param.max || value <= *param.max) &&
         (!param.above || value > *param.above) && (!param.below || value < *param.below);
}

bool default_meets_bounds(const ParamInfo& param) {
  const auto meets = [&](auto value) { return meets_bounds(param, static_cast<double>(value)); };
  const auto& value = param.default_value.variant();
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return meets(*integer);
  if (const auto* number = std::get_if<double>(&value)) return meets(*number);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value))
    return std::all_of(list->begin(), list->end(), meets);
  if (const auto* list = std::get_if<std::vector<double>>(&value))
    return std::all_of(list->begin(), list->end(), meets);
  if (const auto* table = std::get_if<Tensor>(&value))
    return visit<table_types>(table->dtype(), [&]<class T>() {
      const auto elements = table->values<T>();
      return std::all_of(elements.begin(), elements.end(), meets);
    });
  return true;
}

void check_bounds(const JsonField& entry, const ParamInfo& param) {
  const double lowest = std::max(param.min.value_or(-HUGE_VAL), param.above.value_or(-HUGE_VAL));
  const double highest = std::min(param.max.value_or(HUGE_VAL), param.below.value_or(HUGE_VAL));
  const bool open = param.above == lowest || param.below == highest;
  if (lowest > highest || (lowest == highest && open))
    entry.refuse("has bounds that no value can satisfy");
  // The default of a required parameter is never used: its member may start with any value, often
  // 0.
  if (!param.required && !default_meets_bounds(param))
    entry["default"].refuse("does not satisfy the parameter's own bounds");
}

}  // namespace

std::string_view kind_name(ParamKind kind) {
  return kinds.at(static_cast<std::size_t>(kind));
}

AttributeValue read_param_value(const JsonField& field, const ParamInfo& param) {
  ParamInfo adjusted = param;
  adjusted.required = false;
  adjusted.default_value = read_default(field, adjusted);
  if (!default_meets_bounds(adjusted))
    field.refuse("does not satisfy the bounds of parameter '{}'", param.name);
  return adjusted.default_value;
}

ParamInfo read_param(const JsonField& entry) {
  ParamInfo param;
  param.name = identifier(entry["name"]);
  param.doc = plain_text(entry["doc"]);
  param.kind = read_kind(entry["kind"]);
  param.required = entry["required"].boolean();
  param.choices = read_choices(entry["choices"], param.kind);
  if (param.kind == ParamKind::tensor) param.dtype = read_table_dtype(entry["dtype"]);
  param.default_value = read_default(entry["default"], param);
  param.min = read_bound(entry["min"], param.kind);
  param.max = read_bound(entry["max"], param.kind);
  param.above = read_bound(entry["above"], param.kind);
  param.below = read_bound(entry["below"], param.kind);
  check_bounds(entry, param);
  return param;
}

}  // namespace tenon

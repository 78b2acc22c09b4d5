// Conversion between ONNX attribute values and operator parameters.
#include <algorithm>
#include <tenon/host/operator_info.hpp>

namespace tenon {
namespace {

using Value = std::optional<AttributeValue>;

bool is_list(ParamKind kind) {
  return kind == ParamKind::ints || kind == ParamKind::floats || kind == ParamKind::texts;
}

// Returns std::nullopt if a double cannot represent the integer exactly.
std::optional<double> as_double(std::int64_t value) {
  const auto number = static_cast<double>(value);
  const bool exact =
      number >= -0x1p63 && number < 0x1p63 && static_cast<std::int64_t>(number) == value;
  return exact ? std::optional(number) : std::nullopt;
}

Value from_value(const ParamInfo& param, bool value) {
  return param.kind == ParamKind::boolean ? Value(value) : Value();
}

Value from_value(const ParamInfo& param, double value) {
  if (param.kind == ParamKind::floats) return std::vector<double>{value};
  return param.kind == ParamKind::float32 || param.kind == ParamKind::float64 ? Value(value)
                                                                              : Value();
}

Value from_value(const ParamInfo& param, std::int64_t value) {
  if (param.kind == ParamKind::boolean)
    return value == 0 || value == 1 ? Value(value == 1) : Value();
  if (param.kind == ParamKind::ints) return std::vector<std::int64_t>{value};
  if (param.kind == ParamKind::int32 || param.kind == ParamKind::int64) return value;
  const auto number = as_double(value);
  return number ? from_value(param, *number) : Value();
}

Value from_value(const ParamInfo& param, const std::string& value) {
  const bool any = param.choices.empty();
  if (!any && std::find(param.choices.begin(), param.choices.end(), value) == param.choices.end())
    return {};
  if (param.kind == ParamKind::texts) return std::vector<std::string>{value};
  return param.kind == ParamKind::text || param.kind == ParamKind::choice ? Value(value) : Value();
}

Value from_value(const ParamInfo& param, const Tensor& value) {
  return param.kind == ParamKind::tensor ? Value(value) : Value();
}

// Converts a list for a list parameter, if all elements are valid; or a single element for a scalar
// parameter.
template <class T>
Value from_value(const ParamInfo& param, const std::vector<T>& values) {
  if (!is_list(param.kind)) return values.size() == 1 ? from_value(param, values[0]) : Value();
  const bool sound = std::all_of(values.begin(), values.end(), [&](const T& value) {
    return from_value(param, value).has_value();
  });
  if (param.kind == ParamKind::floats && sound) {
    if constexpr (!std::is_same_v<T, std::string>)
      return std::vector<double>(values.begin(), values.end());
  }
  return sound ? Value(values) : Value();
}

// Returns the translation of this value of the parameter, from one side of `values` to the other;
// `any`: whether `values` has entries for the parameter at all.
Value translated(const OnnxForm& form, const ParamInfo& param, const AttributeValue& value,
                 AttributeValue OnnxForm::Value::*from, AttributeValue OnnxForm::Value::*to,
                 bool& any) {
  any = false;
  for (const auto& entry : form.values) {
    if (entry.param != param.name) continue;
    any = true;
    if (entry.*from == value) return entry.*to;
  }
  return {};
}

}  // namespace

std::optional<AttributeValue> OnnxForm::value_of(const ParamInfo& param,
                                                 const AttributeValue& onnx_value) const {
  bool any = false;
  auto known = translated(*this, param, onnx_value, &Value::theirs, &Value::ours, any);
  if (any) return known;
  return std::visit([&](const auto& content) { return from_value(param, content); },
                    onnx_value.variant());
}

std::optional<AttributeValue> OnnxForm::onnx_value_of(const ParamInfo& param,
                                                      const AttributeValue& value) const {
  bool any = false;
  auto known = translated(*this, param, value, &Value::ours, &Value::theirs, any);
  if (any) return known;
  if (const auto* flag = std::get_if<bool>(&value.variant())) return std::int64_t{*flag};
  return value;
}

}  // namespace tenon

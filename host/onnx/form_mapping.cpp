#include "onnx/form_mapping.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "onnx/export/node_export.hpp"

namespace tenon::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

/// Inputs that can replace a parameter: a form that names one also determines the position of the
/// other.
struct ReplacingInput {
  const char *input, *param;
};
constexpr ReplacingInput replacing_inputs[] = {
    {"begins", "begin"}, {"ends", "end"},         {"along", "axes"}, {"steps", "step"},
    {"fill", "value"},   {"along", "axis"},       {"axes", "axis"},  {"count", "k"},
    {"sizes", "shape"},  {"part_sizes", "sizes"}, {"size", "depth"}, {"sizes", "size"},
    {"scales", "scale"}, {"roi", "region"}};
constexpr const char* replaces_halves = "widths";

/// Number of inputs that ONNX requires but that Tenon has as parameters.
struct Required {
  std::string_view type;
  std::size_t inputs;
};
constexpr Required required[] = {{"CumProd", 2}, {"CumSum", 2}, {"Expand", 2},
                                 {"Slice", 3},   {"TopK", 2},   {"Unsqueeze", 2}};

/// Inputs, attributes and attribute values that are newer than the first opset in which the forms
/// apply.
struct Newer {
  std::string_view type;
  OnnxField field;
  std::int64_t since;
  std::string_view value{};  // empty: any
};
constexpr OnnxField attribute(std::string_view name) {
  return {{}, name};
}
constexpr Newer newer[] = {
    {"Attention", {6}, 24},
    {"Attention", attribute("left_window_size"), 25},
    {"Attention", attribute("right_window_size"), 25},
    {"AveragePool", attribute("dilations"), 19},
    {"Cast", attribute("round_mode"), 24},
    {"Cast", attribute("saturate"), 19},
    {"DequantizeLinear", attribute("block_size"), 21},
    {"DequantizeLinear", attribute("output_dtype"), 23},
    {"GRU", attribute("layout"), 14},
    {"LSTM", attribute("layout"), 14},
    {"Pad", {3}, 18},
    {"Pad", attribute("mode"), 19, "wrap"},
    {"QuantizeLinear", attribute("block_size"), 21},
    {"QuantizeLinear", attribute("output_dtype"), 21},
    {"QuantizeLinear", attribute("precision"), 23},
    {"QuantizeLinear", attribute("saturate"), 19},
    {"RNN", attribute("layout"), 14},
    {"Resize", attribute("antialias"), 18},
    {"Resize", attribute("axes"), 18},
    {"Resize", attribute("coordinate_transformation_mode"), 19, "half_pixel_symmetric"},
    {"Resize", attribute("keep_aspect_ratio_policy"), 18},
    {"RoiAlign", attribute("coordinate_transformation_mode"), 16},
    {"ScatterElements", attribute("reduction"), 16},
    {"ScatterElements", attribute("reduction"), 18, "max"},
    {"ScatterElements", attribute("reduction"), 18, "min"},
    {"ScatterND", attribute("reduction"), 16},
    {"ScatterND", attribute("reduction"), 18, "max"},
    {"ScatterND", attribute("reduction"), 18, "min"},
    {"SpaceToDepth", attribute("mode"), 28}};

/// Index inputs for which ONNX allows only these integer types, while Tenon takes any.
struct Indices {
  std::string_view type;
  std::size_t position;
  Types types;
};
constexpr Indices indices[] = {{"Gather", 1, {i32, i64}},
                               {"GatherElements", 1, {i32, i64}},
                               {"GatherND", 1, {i64}},
                               {"ScatterElements", 1, {i32, i64}},
                               {"ScatterND", 1, {i64}}};

template <class T, class Stored>
AttributeValue numbers_of(const Tensor& elements, bool is_scalar) {
  const auto all = elements.values<T>();
  if (is_scalar) return static_cast<Stored>(all[0]);
  return std::vector<Stored>(all.begin(), all.end());
}

template <class T>
Tensor list_of(const std::vector<T>& elements) {
  return Tensor::from(elements, {static_cast<std::int64_t>(elements.size())});
}

}  // namespace

std::string OnnxField::text() const {
  return input ? fmt::format("its input {}", *input) : fmt::format("its attribute '{}'", attribute);
}

// The order determines that of the inputs' constants and of the attributes in exported files.
FormMapping::FormMapping(const OperatorInfo& info, const OnnxForm& form)
    : info_(info), form_(form) {
  const auto declared = [&](const std::string& param) {
    return &info.params[static_cast<std::size_t>(info.find_param(param))];
  };
  const auto pointer_to = [](const auto& absent) { return absent ? &*absent : nullptr; };
  const auto add_halves = [&](bool are_input) {
    for (const auto& halves : form.halves)
      if (halves.place.has_value() == are_input)
        params_.push_back({.field = {halves.place, halves.name},
                           .param = declared(halves.first),
                           .second = declared(halves.second),
                           .replacing = info.find_input(replaces_halves)});
  };
  for (const auto& as : form.inputs_as) {
    params_.push_back({{as.place}, declared(as.param), nullptr, pointer_to(as.absent)});
    for (const auto& pair : replacing_inputs)
      if (params_.back().replacing < 0 && pair.param == as.param)
        params_.back().replacing = info.find_input(pair.input);
  }
  for (const auto& pair : replacing_inputs) {
    const auto position = std::find(form.inputs.begin(), form.inputs.end(), pair.input);
    const auto input = info.find_input(pair.input);
    if (position != form.inputs.end() && input >= 0 && info.find_param(pair.param) >= 0)
      params_.push_back({.field = {static_cast<std::size_t>(position - form.inputs.begin())},
                         .param = declared(pair.param),
                         .replacing = input});
  }
  if (form.type == "TopK")
    for (auto& mapping : params_) mapping.rank = 1;
  add_halves(true);
  for (const auto& entry : form.attributes) {
    params_.push_back({{{}, entry.name}, declared(entry.param), nullptr, pointer_to(entry.absent)});
    if (entry.name == "axis") params_.back().rank = 0;
  }
  add_halves(false);
  for (const auto& constant : form.constants)
    fixed_.push_back({declared(constant.param), &constant.value});
  for (const auto& without : form.without)
    fixed_.push_back({declared(without.param), &without.value, &without.input});
}

std::string_view FormMapping::input_at(std::size_t position) const {
  const auto& names = form_.inputs;
  if (position < names.size()) return names[position];
  const bool takes_rest =
      info_.variadic() && !names.empty() && names.back() == info_.inputs.back().name;
  return takes_rest ? std::string_view(names.back()) : std::string_view();
}

std::optional<std::size_t> FormMapping::position_of(std::size_t input, std::size_t count) const {
  const auto declared = std::min(input, info_.inputs.size() - 1);
  const auto& name = input < count ? info_.inputs[declared].name : info_.states[input - count].name;
  const auto found = std::find(form_.inputs.begin(), form_.inputs.end(), name);
  if (found == form_.inputs.end()) return {};
  const auto further = input < count ? input - declared : 0;  // of a variadic input
  return static_cast<std::size_t>(found - form_.inputs.begin()) + further;
}

bool FormMapping::has_output(std::size_t position) const {
  const auto& names = form_.outputs;
  if (position < names.size() && !names[position].empty()) return true;
  return names.size() == 1 && info_.outputs.size() == 1 && !info_.outputs[0].count.empty();
}

const ParamMapping* FormMapping::find(const OnnxField& field) const {
  const auto found = std::find_if(params_.begin(), params_.end(),
                                  [&](const auto& mapping) { return mapping.field == field; });
  return found == params_.end() ? nullptr : &*found;
}

std::string FormMapping::read(const ParamMapping& mapping, const AttributeValue& onnx_value,
                              Params& params) const {
  // Exported numbers that float32 cannot represent are float64 tensors.
  const auto* elements = std::get_if<Tensor>(&onnx_value.variant());
  if (elements != nullptr && elements->dtype() == f64 && mapping.param->kind != ParamKind::tensor)
    return read(mapping, value_of(*elements), params);
  const auto set = [&](const ParamInfo& param, const AttributeValue& value) -> std::string {
    auto tenon_value = form_.value_of(param, value);
    if (!tenon_value)
      return fmt::format("{} has a value that {} does not support", mapping.field.text(),
                         info_.full_name());
    params.insert_or_assign(param.name, std::move(*tenon_value));
    return {};
  };
  if (mapping.second == nullptr) return set(*mapping.param, onnx_value);
  const auto* list = std::get_if<Integers>(&onnx_value.variant());
  if (list == nullptr || list->size() % 2 != 0)
    return mapping.field.text() + " is not a list of even length";
  const auto middle = list->begin() + static_cast<std::ptrdiff_t>(list->size() / 2);
  const Integers first(list->begin(), middle), second(middle, list->end());
  if (mapping.param == mapping.second && first != second)
    return mapping.field.text() + " differs between the two sides";
  if (auto reason = set(*mapping.param, first); !reason.empty()) return reason;
  return set(*mapping.second, second);
}

std::optional<AttributeValue> FormMapping::onnx_value(const ParamMapping& mapping,
                                                      const AttributeValue& first,
                                                      const AttributeValue& second) const {
  const auto* list = std::get_if<Integers>(&first.variant());
  if (mapping.second != nullptr) {
    const auto* rest = std::get_if<Integers>(&second.variant());
    if (list == nullptr || rest == nullptr || list->size() != rest->size()) return {};
    auto both = *list;
    both.insert(both.end(), rest->begin(), rest->end());
    return both;
  }
  auto value = form_.onnx_value_of(*mapping.param, first);
  if (!value || !mapping.rank) return value;
  const auto* integers = std::get_if<Integers>(&value->variant());
  const auto* integer = std::get_if<std::int64_t>(&value->variant());
  if (mapping.rank == 0 && integers != nullptr && integers->size() == 1)
    return AttributeValue(integers->front());
  if (mapping.rank == 1 && integer != nullptr) return AttributeValue(Integers{*integer});
  return value;
}

std::optional<AttributeValue> FormMapping::absent_value(const ParamMapping& mapping) const {
  if (mapping.absent != nullptr) return form_.value_of(*mapping.param, *mapping.absent);
  return mapping.param->required ? std::nullopt : std::optional(mapping.param->default_value);
}

// An input that replaces a parameter, and halves, have no default in ONNX.
bool FormMapping::is_required(const ParamMapping& mapping) const {
  if (!mapping.field.input) return false;
  const auto position = *mapping.field.input;
  return mapping.second != nullptr || !input_at(position).empty() ||
         std::any_of(std::begin(required), std::end(required), [&](const Required& one) {
           return is_standard(one.type) && position < one.inputs;
         });
}

std::int64_t FormMapping::since(const OnnxField& field, const AttributeValue* value) const {
  std::int64_t since = 1;
  for (const auto& one : newer)
    if (is_standard(one.type) && one.field == field &&
        (one.value.empty() || (value != nullptr && *value == AttributeValue(one.value))))
      since = std::max(since, one.since);
  return since;
}

std::optional<Types> FormMapping::index_types(std::size_t position) const {
  for (const auto& one : indices)
    if (is_standard(one.type) && one.position == position) return one.types;
  return {};
}

AttributeValue value_of(const Tensor& elements) {
  const auto dtype = elements.dtype();
  const bool one = elements.size() == 1;
  if (dtype == i64)
    return numbers_of<std::int64_t, std::int64_t>(elements, elements.shape().rank() == 0);
  if (dtype == i32) return numbers_of<std::int32_t, std::int64_t>(elements, one);
  if (dtype == f64) return numbers_of<double, double>(elements, one);
  if (dtype == f32) return numbers_of<float, double>(elements, one);
  if (dtype == boolean && one) return elements.values<bool>()[0];
  return elements;
}

std::optional<Tensor> elements_of(const AttributeValue& value, std::optional<DType> dtype) {
  if (const auto* list = std::get_if<Integers>(&value.variant())) return list_of(*list);
  if (const auto* list = std::get_if<std::vector<double>>(&value.variant())) {
    if (!std::all_of(list->begin(), list->end(), written::has_float)) return {};
    return list_of(std::vector<float>(list->begin(), list->end()));
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value.variant()))
    return Tensor::from({*integer}, Shape::scalar());
  const auto* number = std::get_if<double>(&value.variant());
  return number != nullptr && dtype ? as_scalar(*number, *dtype) : std::nullopt;
}

}  // namespace tenon::onnx

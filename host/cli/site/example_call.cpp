#include "cli/site/example_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tenon/visit.hpp>

namespace tenon::cli {
namespace {

// Returns the first allowed dtype in order of familiarity.
DType usual_dtype(DTypeMask types) {
  for (const auto dtype : {DType::f32, DType::f64, DType::i64, DType::i32, DType::boolean})
    if (allows(types, dtype)) return dtype;
  for (unsigned i = 0; i < TENON_DTYPE_COUNT; ++i)
    if (allows(types, static_cast<DType>(i))) return static_cast<DType>(i);
  return DType::f32;
}

// Elements of other dtypes have no literals in every language, and numpy has no bfloat16.
bool can_be_written(DType dtype) {
  return dtype == DType::boolean || dtype == DType::f32 || dtype == DType::f64 ||
         any_integer.has(dtype);
}

DType dtype_called(const std::string& name) {
  for (unsigned i = 0; i < TENON_DTYPE_COUNT; ++i)
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  return DType::f32;
}

std::optional<ExampleTensor> tensor_of(const OperatorInfo& info, const InputInfo& input,
                                       const ExampleInfo::Input& declared) {
  ExampleTensor tensor{declared.name, {}, declared.shape, declared.values};
  tensor.dtype = declared.dtype ? dtype_called(*declared.dtype)
                                : usual_dtype(input.types.value_or(info.types));
  if (tensor.dtype == DType::bf16 || (!tensor.values.empty() && !can_be_written(tensor.dtype)))
    return std::nullopt;
  return tensor;
}

// Returns the parameter as written in the example: tables of rank 1 become lists. Returns
// std::nullopt for other ranks.
std::optional<ExampleInfo::Param> param_of(const ExampleInfo::Param& declared) {
  const auto* table = std::get_if<Tensor>(&declared.value.variant());
  if (table == nullptr) return declared;
  if (table->shape().rank() != 1) return std::nullopt;
  return visit<table_types>(table->dtype(), [&]<class T>() {
    const auto values = table->values<T>();
    return ExampleInfo::Param{declared.name, std::vector<T>(values.begin(), values.end())};
  });
}

// Returns the manifest's example if it sets every required input.
std::optional<ExampleCall> written_call(const OperatorInfo& info, const ExampleInfo& example) {
  ExampleCall call;
  for (const auto& declared : example.params) {
    auto param = param_of(declared);
    if (!param) return std::nullopt;
    call.params.push_back(std::move(*param));
  }
  std::size_t known = 0;
  const auto add = [&](const InputInfo& input, const std::string& name) {
    const auto declared = std::find_if(example.inputs.begin(), example.inputs.end(),
                                       [&](const auto& one) { return one.name == name; });
    if (declared == example.inputs.end()) return false;
    call.inputs.push_back(tensor_of(info, input, *declared));
    known += call.inputs.back() ? 1 : 0;
    return true;
  };
  for (const auto& input : info.inputs) {
    if (input.variadic) {
      for (int i = 0; add(input, fmt::format("{}{}", input.name, i)); ++i) continue;
    } else if (!add(input, input.name)) {
      if (!input.optional) return std::nullopt;
      call.inputs.emplace_back();
    }
  }
  if (known != example.inputs.size()) return std::nullopt;
  while (!call.inputs.empty() && !call.inputs.back()) call.inputs.pop_back();
  return call;
}

}  // namespace

std::optional<ExampleCall> example_call(const OperatorInfo& info) {
  for (const auto& example : info.examples)
    if (auto call = written_call(info, example)) return call;
  const bool has_defaults = std::none_of(info.params.begin(), info.params.end(),
                                         [](const auto& param) { return param.required; });
  if (!has_defaults || !info.elementwise || info.variadic()) return std::nullopt;
  ExampleCall call;
  for (const auto& input : info.inputs)
    if (!input.optional)
      call.inputs.push_back(
          ExampleTensor{input.name, usual_dtype(input.types.value_or(info.types)), {2, 3}, {}});
  const bool has_gaps = call.inputs.size() != info.inputs.size() && !info.inputs.back().optional;
  return has_gaps ? std::nullopt : std::optional(std::move(call));
}

std::string number_text(double value, DType dtype) {
  const bool whole = any_integer.has(dtype);
  auto text = fmt::to_string(value);
  if (!whole && text.find_first_of(".e") == std::string::npos) text += ".0";
  return whole ? fmt::to_string(static_cast<std::int64_t>(value)) : text;
}

std::string shape_text(const ExampleTensor& tensor) {
  return fmt::format("{}", fmt::join(tensor.shape, ", "));
}

Strings tensor_names(const ExampleCall& call) {
  Strings names;
  for (const auto& input : call.inputs)
    if (input) names.push_back(input->name);
  return names;
}

ParamKind kind_of(const OperatorInfo& info, const std::string& param) {
  const int i = info.find_param(param);
  return i < 0 ? ParamKind::text : info.params[static_cast<std::size_t>(i)].kind;
}

Strings input_names(const OperatorInfo& info, const std::string& more) {
  Strings names;
  for (const auto& input : info.inputs) {
    names.push_back(input.variadic ? input.name + '0' : input.name);
    if (input.variadic && !more.empty()) names.emplace_back(more);
  }
  return names;
}

}  // namespace tenon::cli

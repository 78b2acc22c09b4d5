#include "cli/print/operator_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tenon/visit.hpp>

#include "cli/print/json_text.hpp"

namespace tenon::cli {
namespace {

// Kernels in other files are known only after loading, and these commands load no plugins.
const char* gradient_of(const OperatorInfo& info) {
  if (info.has("backward") || info.has("gradient")) return "differentiable";
  if (info.has("compose")) return "composite: differentiable if the operators inside are";
  return info.kernels_elsewhere ? "differentiable if its kernels are" : "not differentiable";
}

std::string_view relation_text(std::string_view relation) {
  return relation == "same_length"    ? "has as many values as"
         : relation == "less_than"    ? "is less than"
         : relation == "at_most"      ? "is at most"
         : relation == "greater_than" ? "is greater than"
         : relation == "at_least"     ? "is at least"
                                      : "is a multiple of";
}

// Example: `backward reads x only if kind is "max" or "mean"`.
std::string condition_text(const ConditionInfo& condition) {
  std::vector<std::string> texts;
  for (const auto& value : condition.values) texts.push_back(to_string(value));
  const auto values = fmt::format("{}", fmt::join(texts, " or "));
  const auto& names = condition.names;
  if (condition.of == "hidden")
    return fmt::format("{} is not returned if {} is {}", names[0], condition.param, values);
  const auto what = condition.of == "backward_reads" ? fmt::format("backward reads {}", names[0])
                    : condition.of == "linear"
                        ? fmt::format("linear in {}", fmt::join(names, " and in "))
                    : condition.of == "backward_inplace"
                        ? fmt::format("in-place backward: the gradient of {} may alias that of {}",
                                      names[1], names[0])
                        : fmt::format("in-place: {} may alias {}", names[1], names[0]);
  return fmt::format("{} only if {} is {}", what, condition.param, values);
}

// Returns the type as Python programs name it; a choice that is not a dtype has only its values.
std::string_view type_name(const ParamInfo& param) {
  static constexpr std::string_view names[] = {"bool",  "int",      "int",   "float",
                                               "float", "string",   "int[]", "float[]",
                                               "",      "string[]", "tensor"};
  const auto dtypes = names_of(~DTypeMask{0});
  const auto is_dtype = [&](const auto& choice) {
    return std::find(dtypes.begin(), dtypes.end(), choice) != dtypes.end();
  };
  const bool only_dtypes = param.kind == ParamKind::choice &&
                           std::all_of(param.choices.begin(), param.choices.end(), is_dtype);
  return only_dtypes ? "dtype" : names[static_cast<std::size_t>(param.kind)];
}

// Example: `>= 0 and < 1`.
std::string bounds_of(const ParamInfo& param) {
  std::vector<std::string> bounds;
  if (param.min) bounds.push_back(fmt::format(">= {}", *param.min));
  if (param.above) bounds.push_back(fmt::format("> {}", *param.above));
  if (param.max) bounds.push_back(fmt::format("<= {}", *param.max));
  if (param.below) bounds.push_back(fmt::format("< {}", *param.below));
  return fmt::format("{}", fmt::join(bounds, " and "));
}

// Formats lists, and tensors of rank 1, as `[1, 2, 3]`.
std::string value_text(const AttributeValue& value) {
  const auto* table = std::get_if<Tensor>(&value.variant());
  if (table == nullptr || table->shape().rank() != 1) return to_string(value);
  return visit<table_types>(table->dtype(), [&]<class T>() {
    return fmt::format("[{}]", fmt::join(table->values<T>(), ", "));
  });
}

}  // namespace

std::string input_text(const OperatorInfo& info, const InputInfo& input) {
  return fmt::format("{}{}{}{}{}{}{}", fmt::join(names_of(input.types.value_or(info.types)), " "),
                     input.optional ? ", optional" : "", input.variadic ? ", variadic" : "",
                     input.weight.value_or(false) ? ", a weight" : "",
                     input.on_cpu ? ", in CPU memory" : "", input.shape_only ? ", shape only" : "",
                     input.initial ? fmt::format(", initially {}", *input.initial) : "");
}

std::string output_text(const OutputInfo& output) {
  return fmt::format("{}{}{}{}", output.doc, output.hidden ? " (saved for backward)" : "",
                     output.allocated ? " (shape determined by the kernel)" : "",
                     output.count.empty()
                         ? ""
                         : fmt::format(" (variadic; number = parameter `{}`)", output.count));
}

std::string type_text(const ParamInfo& param) {
  const auto bounds = bounds_of(param);
  std::string type =
      param.dtype ? fmt::format("{} tensor", name_of(*param.dtype)) : std::string(type_name(param));
  if (!bounds.empty()) type += fmt::format(" ({})", bounds);
  if (param.choices.empty()) return type;
  return fmt::format("{}{}one of: {}", type, type.empty() ? "" : ", ",
                     fmt::join(param.choices, ", "));
}

// Prints a float32 default as float, so that it reads 0.1 instead of 0.10000000149.
std::string default_value_of(const ParamInfo& param) {
  if (param.required) return "required";
  const auto* real = std::get_if<double>(&param.default_value.variant());
  if (real != nullptr && param.kind == ParamKind::float32)
    return fmt::to_string(static_cast<float>(*real));
  return value_text(param.default_value);
}

std::string type_and_default(const ParamInfo& param) {
  return fmt::format("{}{} {}{}", type_text(param), param.choices.empty() ? "," : ";",
                     param.required ? "" : "default ", default_value_of(param));
}

// Example: `data [2, 4, 6, 6], index int64 [3]; groups=2`.
std::string example_text(const ExampleInfo& example) {
  std::vector<std::string> inputs, params;
  for (const auto& input : example.inputs) {
    const auto values =
        input.values.empty() ? "" : fmt::format(" {{{}}}", fmt::join(input.values, ", "));
    inputs.push_back(fmt::format("{} {}[{}]{}", input.name, input.dtype ? *input.dtype + ' ' : "",
                                 fmt::join(input.shape, ", "), values));
  }
  for (const auto& param : example.params)
    params.push_back(fmt::format("{}={}", param.name, value_text(param.value)));
  return fmt::format("{}{}{}", fmt::join(inputs, ", "), params.empty() ? "" : "; ",
                     fmt::join(params, " "));
}

std::string rule_text(const RuleInfo& rule) {
  return fmt::format("{} {} {}", rule.left, relation_text(rule.relation), rule.right);
}

std::string rewrite_text(const RewriteInfo& rule) {
  return fmt::format("{}: {} -> {}{}", rule.name, rule.pattern, rule.replacement,
                     rule.exact ? " (exact)" : "");
}

std::vector<std::string> traits_of(const OperatorInfo& info) {
  std::vector<std::string> traits;
  OperatorInfo::each_field(info, [&](const char*, const auto& has, const auto&... phrase) {
    if constexpr (sizeof...(phrase) == 1)
      if (const std::string text(phrase...); has && !text.empty()) traits.push_back(text);
  });
  const auto input_at = [&](int i) { return info.inputs[static_cast<std::size_t>(i)].name; };
  const auto output_at = [&](int i) { return info.outputs[static_cast<std::size_t>(i)].name; };
  for (const auto& [input, output] : info.inplace)
    traits.push_back(fmt::format("in-place: {} may alias {}", output_at(output), input_at(input)));
  for (const auto& [output, input] : info.backward_inplace)
    traits.push_back(fmt::format("in-place backward: the gradient of {} may alias that of {}",
                                 input_at(input), output_at(output)));
  for (const auto& [left, right] : info.linear)
    traits.push_back(right < 0
                         ? fmt::format("linear in {}", input_at(left))
                         : fmt::format("linear in {} and in {}", input_at(left), input_at(right)));
  if (!info.channels_last.empty())
    traits.push_back(fmt::format("{} may be channels-last (all of them or none)",
                                 fmt::join(info.channels_last, ", ")));
  if (info.has("forward_sparse")) traits.emplace_back("supports sparse tensors in forward");
  if (info.has("backward_sparse")) traits.emplace_back("supports sparse tensors in backward");
  traits.emplace_back(gradient_of(info));
  if (info.has("backward")) {
    auto names = info.read_by_backward();
    for (const auto& condition : info.conditions)
      if (condition.of == "backward_reads") std::erase(names, condition.names[0]);
    const bool conditional = std::any_of(
        info.conditions.begin(), info.conditions.end(),
        [](const ConditionInfo& condition) { return condition.of == "backward_reads"; });
    if (!names.empty())
      traits.push_back(fmt::format("backward reads {}", fmt::join(names, ", ")));
    else if (!conditional)
      traits.emplace_back("backward reads only the outputs' gradients");
  }
  for (const auto& condition : info.conditions) traits.push_back(condition_text(condition));
  return traits;
}

}  // namespace tenon::cli

// Texts that describe ONNX mappings of operators.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/print/json_text.hpp"
#include "cli/print/operator_text.hpp"

namespace tenon::cli {
namespace {

std::string versions_text(const OnnxForm& form) {
  if (form.until && *form.until == form.since) return fmt::format(" {}", form.since);
  if (form.until) return fmt::format(" {} to {}", form.since, *form.until);
  return form.since > 1 ? fmt::format(" since {}", form.since) : "";
}

std::string absent_text(const std::optional<AttributeValue>& absent) {
  return absent ? fmt::format(" (without it {})", to_string(*absent)) : "";
}

std::vector<std::string> shown(std::vector<std::string> names) {
  for (auto& name : names)
    if (name.empty()) name = "-";
  return names;
}

}  // namespace

// Example: `ReduceSum since 13: input 1 is axis, keepdims is keepdims (without it 1),
// noop_with_empty_axes must be 0`.
std::string onnx_text(const OperatorInfo& info, const OnnxForm& form) {
  std::vector<std::string> own_inputs, own_outputs, clauses;
  for (const auto& input : info.inputs) own_inputs.push_back(input.name);
  for (const auto& output : info.outputs)
    if (!output.hidden) own_outputs.push_back(output.name);
  if (form.types) clauses.push_back(fmt::format("of {}", fmt::join(names_of(*form.types), " ")));
  auto inputs = form.inputs;
  for (const auto& input : form.inputs_as) inputs[input.place] = input.param;
  for (const auto& halves : form.halves)
    if (halves.place) inputs[*halves.place] = halves.first;
  std::erase_if(inputs, [&](const auto& name) { return info.find_param(name) >= 0; });
  if (inputs != own_inputs)
    clauses.push_back(fmt::format("inputs {}", fmt::join(shown(form.inputs), " ")));
  for (const auto& input : form.inputs_as)
    clauses.push_back(
        fmt::format("input {} is {}{}", input.place, input.param, absent_text(input.absent)));
  for (const auto& halves : form.halves) {
    const auto whole = halves.place ? fmt::format("input {}", *halves.place) : halves.name;
    clauses.push_back(halves.first == halves.second
                          ? fmt::format("{} is {} twice", whole, halves.first)
                          : fmt::format("{} is {} and {}", whole, halves.first, halves.second));
  }
  for (const auto& attribute : form.attributes)
    clauses.push_back(
        fmt::format("{} is {}{}", attribute.name, attribute.param, absent_text(attribute.absent)));
  for (const auto& value : form.values)
    clauses.push_back(
        fmt::format("{} {} is {}", value.param, to_string(value.ours), to_string(value.theirs)));
  for (const auto& constant : form.constants)
    clauses.push_back(fmt::format("{} is always {}", constant.param, to_string(constant.value)));
  for (const auto& without : form.without)
    clauses.push_back(
        fmt::format("without {} {} is {}", without.input, without.param, to_string(without.value)));
  for (const auto& only : form.only) {
    std::vector<std::string> values;
    for (const auto& value : only.values) values.push_back(to_string(value));
    clauses.push_back(fmt::format("{} must be {}", only.name, fmt::join(values, " or ")));
  }
  if (form.outputs != own_outputs)
    clauses.push_back(fmt::format("outputs {}", fmt::join(shown(form.outputs), " ")));
  if (!form.ignored.empty())
    clauses.push_back(fmt::format("{} may be ignored", fmt::join(form.ignored, ", ")));
  return fmt::format("{}{}{}{}{}{}", form.domain, form.domain.empty() ? "" : "::", form.type,
                     versions_text(form), clauses.empty() ? "" : ": ", fmt::join(clauses, ", "));
}

}  // namespace tenon::cli

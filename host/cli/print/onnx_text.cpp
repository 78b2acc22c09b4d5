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
  return absent ? fmt::format(" (default {})", to_string(*absent)) : "";
}

std::vector<std::string> shown(std::vector<std::string> names) {
  for (auto& name : names)
    if (name.empty()) name = "-";
  return names;
}

// Adds all inputs if any has a position of its own in ONNX, such as `scales <- input 1`.
void add_moved_inputs(std::vector<std::string>& clauses, const OperatorInfo& info,
                      const OnnxForm& form) {
  std::vector<std::string> inputs;
  bool moved = false;
  for (std::size_t i = 0; i < form.inputs.size(); ++i) {
    const auto& name = form.inputs[i];
    if (name.empty()) continue;
    moved |= i >= info.inputs.size() || info.inputs[i].name != name;
    inputs.push_back(fmt::format("{} <- input {}", name, i));
  }
  if (moved) clauses.insert(clauses.end(), inputs.begin(), inputs.end());
}

// Adds a clause for each parameter: `mode "linear" <- "bilinear", "nearest" <- "nearest"`.
void add_values(std::vector<std::string>& clauses, const OnnxForm& form) {
  const std::string* param = nullptr;
  for (const auto& value : form.values) {
    const auto pair = fmt::format("{} <- {}", to_string(value.ours), to_string(value.theirs));
    if (param != nullptr && *param == value.param)
      clauses.back() += ", " + pair;
    else
      clauses.push_back(value.param + ' ' + pair);
    param = &value.param;
  }
}

}  // namespace

// Example: `ReduceSum since 13: axis <- input 1; keepdims <- attribute keepdims (default 1);
// attribute noop_with_empty_axes must be 0`. The operator's names are on the left, ONNX's on the
// right; inputs whose positions are the same on both sides are left out.
std::string onnx_text(const OperatorInfo& info, const OnnxForm& form) {
  std::vector<std::string> own_outputs, clauses;
  for (const auto& output : info.outputs)
    if (!output.hidden) own_outputs.push_back(output.name);
  if (form.types)
    clauses.push_back(fmt::format("dtypes {}", fmt::join(names_of(*form.types), " ")));
  add_moved_inputs(clauses, info, form);
  for (const auto& input : form.inputs_as)
    clauses.push_back(
        fmt::format("{} <- input {}{}", input.param, input.place, absent_text(input.absent)));
  for (const auto& halves : form.halves) {
    const auto whole =
        halves.place ? fmt::format("input {}", *halves.place) : "attribute " + halves.name;
    clauses.push_back(
        halves.first == halves.second
            ? fmt::format("{} <- {} (with equal halves)", halves.first, whole)
            : fmt::format("{}, {} <- halves of {}", halves.first, halves.second, whole));
  }
  for (const auto& attribute : form.attributes)
    clauses.push_back(fmt::format("{} <- attribute {}{}", attribute.param, attribute.name,
                                  absent_text(attribute.absent)));
  add_values(clauses, form);
  for (const auto& constant : form.constants)
    clauses.push_back(fmt::format("{} = {}", constant.param, to_string(constant.value)));
  for (const auto& without : form.without)
    clauses.push_back(fmt::format("{} = {} if {} is absent", without.param,
                                  to_string(without.value), without.input));
  for (const auto& only : form.only) {
    std::vector<std::string> values;
    for (const auto& value : only.values) values.push_back(to_string(value));
    clauses.push_back(fmt::format("attribute {} must be {}", only.name, fmt::join(values, " or ")));
  }
  if (form.outputs != own_outputs)
    clauses.push_back(fmt::format("outputs {}", fmt::join(shown(form.outputs), ", ")));
  if (!form.ignored.empty())
    clauses.push_back(fmt::format("ignored attributes: {}", fmt::join(form.ignored, ", ")));
  return fmt::format("{}{}{}{}{}{}", form.domain, form.domain.empty() ? "" : "::", form.type,
                     versions_text(form), clauses.empty() ? "" : ": ", fmt::join(clauses, "; "));
}

}  // namespace tenon::cli

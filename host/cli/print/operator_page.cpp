#include "cli/print/operator_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/print/operator_text.hpp"

namespace tenon::cli {

void add_tables(Page& page, const OperatorInfo& info, bool titles) {
  using Rows = std::vector<std::vector<std::string>>;
  Rows inputs, outputs, states, params;
  for (const auto& input : info.inputs)
    inputs.push_back({input.name, input_text(info, input), input.doc});
  for (const auto& output : info.outputs) outputs.push_back({output.name, output_text(output)});
  for (const auto& state : info.states)
    states.push_back({state.name, fmt::format("initially {}", state.initial), state.doc});
  for (const auto& param : info.params)
    params.push_back({param.name, type_text(param), default_value_of(param), param.doc});
  const auto add = [&](const char* title, const std::vector<std::string>& columns,
                       const Rows& rows) {
    if (titles && !rows.empty()) page.heading(2, title);
    page.table(columns, rows);
  };
  add("Inputs", {"input", "dtypes", "description"}, inputs);
  add("Outputs", {"output", "description"}, outputs);
  add("States", {"state", "value", "description"}, states);
  add("Parameters", {"parameter", "type", "default", "description"}, params);
}

void add_lists(Page& page, const OperatorInfo& info) {
  page.list("Traits", traits_of(info));
  std::vector<std::string> rules, rewrites, onnx, examples;
  for (const auto& rule : info.rules) rules.push_back(rule_text(rule));
  for (const auto& example : info.examples) examples.push_back(example_text(example));
  page.list("Rules", rules);
  for (const auto& rule : info.rewrites) rewrites.push_back(rewrite_text(rule));
  page.list("Rewrite rules", rewrites);
  for (const auto& form : info.onnx) onnx.push_back(onnx_text(info, form));
  page.list("ONNX", onnx);
  page.list("Examples", examples);
}

std::string kernels_of(const CatalogOperator& op) {
  if (!op.devices.empty()) return fmt::format("kernels for {}", fmt::join(op.devices, ", "));
  return op.info.has("compose") ? "a composite of other operators" : "kernels in other plugins";
}

}  // namespace tenon::cli

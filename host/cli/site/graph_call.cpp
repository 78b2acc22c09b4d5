// Example calls as graphs, and functions shared by the languages.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/print/json_text.hpp"
#include "cli/site/call_text.hpp"
#include "cli/site/example_call.hpp"

namespace tenon::cli {
namespace {

std::string json_value(const AttributeValue& value, ParamKind kind) {
  const auto list = [](const auto& values) {
    Strings items;
    for (const auto& each : values) items.push_back(JsonItem(each).text);
    return fmt::format("[{}]", fmt::join(items, ", "));
  };
  return std::visit(
      [&]<class T>(const T& content) -> std::string {
        if constexpr (std::is_same_v<T, bool>)
          return content ? "true" : "false";
        else if constexpr (std::is_same_v<T, std::int64_t>)
          return kind == ParamKind::float32 || kind == ParamKind::float64
                     ? number_text(static_cast<double>(content), DType::f64)
                     : fmt::to_string(content);
        else if constexpr (std::is_same_v<T, Tensor>)
          return "...";  // not reached: example_call() turns tables into lists
        else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
          return JsonItem(content).text;
        else
          return list(content);
      },
      value.variant());
}

std::string json_tensor(const ExampleTensor& tensor) {
  auto text = fmt::format(R"("{}": {{"dtype": "{}", "shape": [{}])", tensor.name,
                          name_of(tensor.dtype), shape_text(tensor));
  if (!tensor.values.empty())
    text += fmt::format(R"(, "values": {})", nested_values(tensor, "true", "false"));
  return text + '}';
}

std::string unlike(std::string name, const Strings& others) {
  while (std::find(others.begin(), others.end(), name) != others.end()) name += '_';
  return name;
}

std::int64_t integer_of(const OperatorInfo& info, const ExampleCall& call,
                        const std::string& param) {
  const auto found = std::find_if(call.params.begin(), call.params.end(),
                                  [&](const auto& one) { return one.name == param; });
  const int i = info.find_param(param);
  const auto* value = found != call.params.end() ? &found->value
                      : i < 0                    ? nullptr
                              : &info.params[static_cast<std::size_t>(i)].default_value;
  const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(&value->variant());
  return number == nullptr ? 0 : *number;
}

// Returns the node's visible outputs, by name and index.
Strings json_outputs(const OperatorInfo& info, const ExampleCall& call, const std::string& node) {
  Strings outputs;
  std::int64_t index = 0;
  for (const auto& output : info.outputs) {
    const auto count = output.count.empty() ? 1 : integer_of(info, call, output.count);
    for (std::int64_t i = 0; i < count; ++i, ++index)
      if (!output.hidden)
        outputs.push_back(fmt::format(R"("{}{}": "{}{}")", output.name,
                                      output.count.empty() ? "" : fmt::to_string(i), node,
                                      index == 0 ? "" : fmt::format(":{}", index)));
  }
  return outputs;
}

}  // namespace

std::string CalledOperator::plugin() const {
  if (op.file < 0 || op.info.space == "tenon") return {};
  return catalog.files()[static_cast<std::size_t>(op.file)].path.filename().string();
}

std::string graph_text(const CalledOperator& called, const ExampleCall& call) {
  const auto node = unlike("node", tensor_names(call));
  Strings inputs, constants, input_texts, params;
  for (const auto& input : call.inputs) {
    input_texts.push_back(input ? fmt::format("\"{}\"", input->name) : "null");
    if (input) (input->values.empty() ? inputs : constants).push_back(json_tensor(*input));
  }
  for (const auto& param : call.params)
    params.push_back(fmt::format(R"("{}": {})", param.name,
                                 json_value(param.value, kind_of(called.op.info, param.name))));
  std::string text = R"({"tenon": 1,)"
                     "\n";
  if (!inputs.empty())
    text += fmt::format(" \"inputs\": {{\n   {}}},\n", fmt::join(inputs, ",\n   "));
  if (!constants.empty())
    text += fmt::format(" \"constants\": {{\n   {}}},\n", fmt::join(constants, ",\n   "));
  text += fmt::format(
      " \"nodes\": [\n   {{\"name\": \"{}\", \"op\": \"{}\", \"inputs\": [{}]{}}}],\n", node,
      called.name(), fmt::join(input_texts, ", "),
      params.empty() ? "" : fmt::format(", \"attrs\": {{{}}}", fmt::join(params, ", ")));
  return text + fmt::format(" \"outputs\": {{{}}}}}\n",
                            fmt::join(json_outputs(called.op.info, call, node), ", "));
}

std::string graph_form(const CalledOperator& called) {
  Strings inputs, params;
  for (const auto& name : input_names(called.op.info, ""))
    inputs.push_back(fmt::format("\"{}\"", name));
  if (called.op.info.variadic()) inputs.emplace_back("...");
  for (const auto& param : called.op.info.params)
    if (param.required) params.push_back(fmt::format("\"{}\": ...", param.name));
  return fmt::format(
      "{{\"name\": \"node\", \"op\": \"{}\", \"inputs\": [{}]{}}}\n", called.name(),
      fmt::join(inputs, ", "),
      params.empty() ? "" : fmt::format(", \"attrs\": {{{}}}", fmt::join(params, ", ")));
}

}  // namespace tenon::cli

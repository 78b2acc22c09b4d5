// Python example calls.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/site/call_text.hpp"
#include "cli/site/example_call.hpp"
#include "cli/typing/python_text.hpp"

namespace tenon::cli {
namespace {

std::string python_dtype(DType dtype) {
  return dtype == DType::boolean ? "np.bool_" : fmt::format("np.{}", name_of(dtype));
}

std::string python_tensor(const ExampleTensor& tensor) {
  const auto dtype = python_dtype(tensor.dtype);
  if (!tensor.values.empty())
    return fmt::format("np.array({}, {})", nested_values(tensor, "True", "False"), dtype);
  const auto shape = fmt::format("({}{})", shape_text(tensor), tensor.shape.size() == 1 ? "," : "");
  if (tensor.dtype == DType::boolean)
    return fmt::format("np.asarray(random.random({}) < 0.5)", shape);
  if (any_integer.has(tensor.dtype))
    return fmt::format("np.asarray(random.integers(0, 10, {}), {})", shape, dtype);
  return fmt::format("np.asarray(random.standard_normal({}), {})", shape, dtype);
}

/// Returns `ops.acme.rope`, or `ops["acme.rope"]` if there is an operator called acme.
std::string python_operator(const CalledOperator& called) {
  const auto name = called.name();
  const auto dot = name.find('.');
  if (dot == std::string::npos) return "ops." + python_name(name);
  const auto space = name.substr(0, dot);
  if (called.catalog.find(space) != nullptr) return fmt::format("ops[\"{}\"]", name);
  return fmt::format("ops.{}.{}", python_name(space), python_name(name.substr(dot + 1)));
}

std::string python_param(const OperatorInfo& info, const std::string& name) {
  const int i = info.find_param(name);
  return i < 0 ? name : PythonNames(info).params[static_cast<std::size_t>(i)];
}

}  // namespace

std::string python_program(const CalledOperator& called, const ExampleCall& call) {
  const auto& info = called.op.info;
  const auto names = names_in_python(info, tensor_names(call));
  std::string lines;
  Strings arguments;
  std::size_t next_input = 0;
  bool random = false;
  for (const auto& input : call.inputs) {
    if (!input) {
      arguments.emplace_back("None");
      continue;
    }
    random |= input->values.empty();
    lines += fmt::format("{} = {}\n", names.inputs[next_input], python_tensor(*input));
    arguments.push_back(names.inputs[next_input++]);
  }
  for (const auto& param : call.params)
    arguments.push_back(fmt::format("{}={}", python_param(info, param.name),
                                    python_literal(param.value, kind_of(info, param.name))));
  std::string text = lines.empty() ? "" : "import numpy as np\n";
  if (!called.plugin().empty()) text += "import tenon\n";
  text += "from tenon import ops\n\n";
  if (!called.plugin().empty())
    text += fmt::format("tenon.add_plugins({})\n", python_string(called.plugin()));
  if (random) text += "random = np.random.default_rng(0)\n";
  PythonExpression expression{
      fmt::format("{} = {}(", names.result, python_operator(called)), {}, ")"};
  for (auto& argument : arguments) expression.items.push_back({std::move(argument)});
  return fmt::format("{}{}{}\nprint({})\n", text, lines, python_lines(expression, 0), names.result);
}

std::string python_form(const CalledOperator& called) {
  const PythonNames names(called.op.info);
  Strings arguments;
  for (std::size_t i = 0; i < names.inputs.size(); ++i)
    arguments.push_back((called.op.info.inputs[i].variadic ? "*" : "") + names.inputs[i]);
  for (std::size_t i = 0; i < names.params.size(); ++i)
    if (called.op.info.params[i].required) arguments.push_back(names.params[i] + "=...");
  return fmt::format("{}({})\n", python_operator(called), fmt::join(arguments, ", "));
}

}  // namespace tenon::cli

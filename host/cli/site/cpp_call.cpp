// C++ example calls.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/print/json_text.hpp"
#include "cli/site/call_text.hpp"
#include "cli/site/example_call.hpp"

namespace tenon::cli {
namespace {

std::string cpp_string(std::string_view text) {
  return JsonItem(text).text;  // C++ string literals need the same escapes as JSON
}

std::string cpp_dtype(DType dtype) {
  std::string name;
#define TENON_NAME_OF(constant, ...) \
  if (dtype == DType::constant) name = #constant;
  TENON_DTYPES(TENON_NAME_OF)
#undef TENON_NAME_OF
  return "tenon::" + name;
}

std::string cpp_type(DType dtype) {
  if (dtype == DType::boolean) return "bool";
  if (dtype == DType::f32) return "float";
  if (dtype == DType::f64) return "double";
  return fmt::format("std::{}_t", name_of(dtype));
}

std::string cpp_value(const AttributeValue& value) {
  const auto list = [](const auto& values, const auto& form) {
    Strings items;
    for (const auto& each : values) items.push_back(form(each));
    return fmt::format("{}", fmt::join(items, ", "));
  };
  return std::visit(
      [&]<class T>(const T& content) -> std::string {
        if constexpr (std::is_same_v<T, bool>)
          return content ? "true" : "false";
        else if constexpr (std::is_same_v<T, double>)
          return number_text(content, DType::f64);
        else if constexpr (std::is_same_v<T, std::string>)
          return cpp_string(content);
        else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
          return fmt::format("std::vector<std::int64_t>{{{}}}", fmt::join(content, ", "));
        else if constexpr (std::is_same_v<T, std::vector<double>>)
          return fmt::format("std::vector<double>{{{}}}", list(content, [](double each) {
                               return number_text(each, DType::f64);
                             }));
        else if constexpr (std::is_same_v<T, std::vector<std::string>>)
          return fmt::format("std::vector<std::string>{{{}}}", list(content, cpp_string));
        else if constexpr (std::is_same_v<T, Tensor>)
          return "...";  // not reached: example_call() turns tables into lists
        else
          return fmt::to_string(content);
      },
      value.variant());
}

std::string cpp_shape(const ExampleTensor& tensor) {
  return tensor.shape.empty() ? "tenon::Shape::scalar()"
                              : fmt::format("{{{}}}", shape_text(tensor));
}

std::string cpp_tensor(const ExampleTensor& tensor) {
  if (tensor.values.empty())
    return fmt::format("tenon::random_tensor({}, {})", cpp_dtype(tensor.dtype), cpp_shape(tensor));
  Strings values;
  for (const double value : tensor.values)
    values.push_back(tensor.dtype == DType::boolean ? std::string(value != 0 ? "true" : "false")
                                                    : number_text(value, tensor.dtype) +
                                                          (tensor.dtype == DType::f32 ? "f" : ""));
  return fmt::format("tenon::Tensor::from<{}>({{{}}}, {})", cpp_type(tensor.dtype),
                     fmt::join(values, ", "), cpp_shape(tensor));
}

std::string cpp_call(const std::string& function, const std::string& name, const Strings& inputs,
                     const Strings& params) {
  return fmt::format("host.{}({}, {{{}}}{})", function, cpp_string(name), fmt::join(inputs, ", "),
                     params.empty() ? "" : fmt::format(", {{{}}}", fmt::join(params, ", ")));
}

bool has_one_output(const OperatorInfo& info) {
  std::size_t count = 0;
  for (const auto& output : info.outputs) count += output.hidden ? 0 : output.count.empty() ? 1 : 2;
  return count == 1;
}

}  // namespace

std::string cpp_program(const CalledOperator& called, const ExampleCall& call) {
  const auto names = names_in_cpp(called.op.info, tensor_names(call));
  std::string text = "#include <iostream>\n#include <tenon/host/host.hpp>\n";
  std::string lines;
  Strings inputs, params;
  std::size_t next_input = 0;
  bool random = false;
  for (const auto& input : call.inputs) {
    if (!input) {
      inputs.emplace_back("tenon::Tensor()");
      continue;
    }
    random |= input->values.empty();
    lines += fmt::format("  const auto {} = {};\n", names.inputs[next_input], cpp_tensor(*input));
    inputs.push_back(names.inputs[next_input++]);
  }
  for (const auto& param : call.params)
    params.push_back(fmt::format("{{{}, {}}}", cpp_string(param.name), cpp_value(param.value)));
  if (random) text += "#include <tenon/host/tensor_functions.hpp>\n";
  text += "\nint main() {\n  tenon::Host host;\n";
  if (!called.plugin().empty())
    text += fmt::format("  host.add_plugins({});\n", cpp_string(called.plugin()));
  text += lines;
  if (has_one_output(called.op.info))
    return text +
           fmt::format("  const auto {0} = {1};\n  std::cout << {0}.to_string() << '\\n';\n}}\n",
                       names.result, cpp_call("call", called.name(), inputs, params));
  return text +
         fmt::format("  for (const auto& each : {}) std::cout << each.to_string() << '\\n';\n}}\n",
                     cpp_call("call_all", called.name(), inputs, params));
}

std::string cpp_form(const CalledOperator& called) {
  Strings params;
  for (const auto& param : called.op.info.params)
    if (param.required) params.push_back(fmt::format("{{{}, ...}}", cpp_string(param.name)));
  return cpp_call(has_one_output(called.op.info) ? "call" : "call_all", called.name(),
                  input_names(called.op.info, "..."), params) +
         '\n';
}

}  // namespace tenon::cli

#include "cli/site/example_text.hpp"

namespace tenon::cli {

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

// Variable names in example calls: those of inputs and outputs, unless the language or the example
// already uses them.
#pragma once
#include <set>
#include <string>
#include <tenon/host/operator_info.hpp>
#include <vector>

namespace tenon::cli {

struct ExampleNames {
  std::vector<std::string> inputs;  ///< in the order of `tensors`
  std::string result;
};
ExampleNames names_in_cpp(const OperatorInfo& info, const std::vector<std::string>& tensors);
ExampleNames names_in_python(const OperatorInfo& info, const std::vector<std::string>& tensors);

}  // namespace tenon::cli

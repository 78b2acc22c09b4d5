// Example calls of operators, from their manifests.
#pragma once
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tenon/dtype.hpp>
#include <tenon/host/operator_info.hpp>
#include <vector>

namespace tenon::cli {

struct ExampleTensor {
  std::string name;  ///< the input's name; for a variadic input `part`, part0, part1 ...
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<double> values;  ///< all elements; empty if any values will do
};

struct ExampleCall {
  /// by input position; std::nullopt for an omitted optional input
  std::vector<std::optional<ExampleTensor>> inputs;
  std::vector<ExampleInfo::Param> params;
};

/// Returns the first complete example of the manifest, or else a generated call if the operator is
/// elementwise and all its parameters have defaults; std::nullopt otherwise.
std::optional<ExampleCall> example_call(const OperatorInfo& info);

using Strings = std::vector<std::string>;

/// Example: `2, 3`.
std::string shape_text(const ExampleTensor& tensor);
/// Formats a number of a dtype, with a decimal point for floating-point dtypes.
std::string number_text(double value, DType dtype);
/// Returns the names of the tensors that the call passes.
Strings tensor_names(const ExampleCall& call);
ParamKind kind_of(const OperatorInfo& info, const std::string& param);
/// Returns the names of all inputs; for a variadic input `part`, part0 and `more`.
Strings input_names(const OperatorInfo& info, const std::string& more);

/// Formats elements in brackets nested like the shape; a scalar has none.
template <class Form>
std::string nested_values(const ExampleTensor& tensor, const Form& form, std::size_t& at,
                          std::size_t axis = 0) {
  if (axis == tensor.shape.size()) return form(tensor.values[at++]);
  Strings items;
  for (std::int64_t i = 0; i < tensor.shape[axis]; ++i)
    items.push_back(nested_values(tensor, form, at, axis + 1));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

/// Formats all elements, with the given words for bool elements.
inline std::string nested_values(const ExampleTensor& tensor, const char* true_word,
                                 const char* false_word) {
  std::size_t at = 0;
  const auto form = [&](double value) {
    return tensor.dtype == DType::boolean ? std::string(value != 0 ? true_word : false_word)
                                          : number_text(value, tensor.dtype);
  };
  return nested_values(tensor, form, at);
}

}  // namespace tenon::cli

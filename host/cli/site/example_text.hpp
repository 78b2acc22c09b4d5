// Parts of an example that several languages write alike.
#pragma once
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "cli/site/example_call.hpp"

namespace tenon::cli {

using Strings = std::vector<std::string>;

/// `2, 3`
std::string shape_text(const ExampleTensor& tensor);
/// A number of a dtype: with a point where the dtype has one.
std::string number_text(double value, DType dtype);
/// The names of the tensors that are given.
Strings tensor_names(const ExampleCall& call);
ParamKind kind_of(const OperatorInfo& info, const std::string& param);
/// The names of all inputs; part0 and `more` of a variadic one.
Strings input_names(const OperatorInfo& info, const std::string& more);

/// Elements in brackets within brackets, as the shape says; a scalar's alone.
template <class Form>
std::string nested_values(const ExampleTensor& tensor, const Form& form, std::size_t& at, std::size_t axis = 0) {
  if (axis == tensor.shape.size()) return form(tensor.values[at++]);
  Strings items;
  for (std::int64_t i = 0; i < tensor.shape[axis]; ++i) items.push_back(nested_values(tensor, form, at, axis + 1));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

/// All elements so, with these words for those of dtype bool.
inline std::string nested_values(const ExampleTensor& tensor, const char* true_word, const char* false_word) {
  std::size_t at = 0;
  const auto form = [&](double value) {
    return tensor.dtype == DType::boolean ? std::string(value != 0 ? true_word : false_word) : number_text(value, tensor.dtype);
  };
  return nested_values(tensor, form, at);
}

}  // namespace tenon::cli

#include "graph/table_parameter.hpp"

#include <fmt/format.h>

#include <cmath>
#include <tenon/host/failure.hpp>

#include "graph/parameters.hpp"
#include "tensor/exact_cast.hpp"
#include "tensor/number_fits.hpp"

namespace tenon {
namespace {

template <class... Args>
[[noreturn]] void reject(fmt::format_string<Args...> text, Args&&... args) {
  throw Failure(FailureKind::usage, fmt::format(text, std::forward<Args>(args)...));
}

// Called before anything is converted or copied.
void check_size(const ParamInfo& param, std::int64_t size) {
  if (size > TENON_MAX_TABLE)
    reject(
        "parameter '{}' has {} elements, but a tensor parameter holds at most {}: make it an input",
        param.name, size, TENON_MAX_TABLE);
}

template <class T>
Tensor list_of(const ParamInfo& param, const std::vector<T>& list) {
  check_size(param, static_cast<std::int64_t>(list.size()));
  return Tensor::from(list, {static_cast<std::int64_t>(list.size())});
}

Tensor rounded(const ParamInfo& param, const std::vector<double>& list) {
  check_size(param, static_cast<std::int64_t>(list.size()));
  std::vector<float> numbers;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!fits<float>(list[i]))
      reject("element {} of parameter '{}' is {} but must fit a 32-bit float", i, param.name,
             list[i]);
    numbers.push_back(number_as<float>(list[i]));
  }
  return list_of(param, numbers);
}

Tensor as_tensor(const ParamInfo& param, const AttributeValue& value) {
  if (const auto* tensor = std::get_if<Tensor>(&value.variant()))
    return check_size(param, tensor->size()), *tensor;
  if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&value.variant()))
    return list_of(param, *whole);
  if (const auto* real = std::get_if<std::vector<double>>(&value.variant()))
    return *param.dtype == f32 ? rounded(param, *real) : list_of(param, *real);
  reject("parameter '{}' is {} but must be {}", param.name, message_text(value), table_text(param));
}

}  // namespace

std::string table_text(const ParamInfo& param) {
  const bool vowel = *param.dtype == i32 || *param.dtype == i64;
  return fmt::format("{} {} tensor", vowel ? "an" : "a", name_of(*param.dtype));
}

Tensor table_of(const ParamInfo& param, const AttributeValue& value) {
  const Tensor tensor = as_tensor(param, value);
  if (auto table = exact_cast(tensor, *param.dtype)) return *std::move(table);
  const auto shown = std::holds_alternative<Tensor>(value.variant())
                         ? fmt::format("{}{} {}",
                                       tensor.storage() == Storage::dense
                                           ? ""
                                           : fmt::format("{} ", name_of(tensor.storage())),
                                       name_of(tensor.dtype()), to_string(tensor.shape()))
                         : message_text(value);
  reject("parameter '{}' is {}, which cannot be converted to {} without loss", param.name, shown,
         table_text(param));
}

void check_table(const ParamInfo& param, const Tensor& table) {
  if (table.dtype() != *param.dtype)
    reject("parameter '{}' is {} {} but must be {}", param.name, name_of(table.dtype()),
           to_string(table.shape()), table_text(param));
  check_size(param, table.size());
}

}  // namespace tenon

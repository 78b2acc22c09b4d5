#include "onnx/export/node_export.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tenon/host/tensor_functions.hpp>
#include <tenon/visit.hpp>

#include "tensor/low_bit_tensor.hpp"

namespace tenon::onnx {
namespace {

std::map<std::string, Decomposition::Write, std::less<>>& all_decompositions() {
  static std::map<std::string, Decomposition::Write, std::less<>> all;
  return all;
}

}  // namespace

Decomposition::Decomposition(const char* op, Write write) {
  all_decompositions().emplace(op, write);
}

Decomposition::Write find_decomposition(std::string_view op) {
  const auto found = all_decompositions().find(op);
  return found == all_decompositions().end() ? nullptr : found->second;
}

const AttributeValue& NodeExport::parameter(std::string_view name) const {
  const auto found = std::find_if(node_.parameters.begin(), node_.parameters.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  if (found == node_.parameters.end())
    throw Failure(FailureKind::failed, "it has no parameter " + std::string(name));
  return found->second;
}

bool NodeExport::has_parameter(std::string_view name) const {
  return std::any_of(node_.parameters.begin(), node_.parameters.end(),
                     [&](const auto& entry) { return entry.first == name; });
}

std::string NodeExport::input(std::string_view name) const {
  if (const auto at = info().find_input(name); at >= 0) return input(static_cast<std::size_t>(at));
  for (std::size_t i = 0; i < info().states.size(); ++i)
    if (info().states[i].name == name) return input(node_.inputs.size() - info().states.size() + i);
  return {};
}

std::string NodeExport::next_name(const std::string& type) {
  return scope_.free_node_name(node_.name + '/' + type);
}

std::string NodeExport::free_name(std::string_view suffix) {
  return scope_.free_name(node_.name + '/' + std::string(suffix));
}

std::string NodeExport::add(const std::string& type, written::Texts inputs, Attributes attributes) {
  auto name = next_name(type);
  scope_.add({.type = type,
              .inputs = std::move(inputs),
              .outputs = {name},
              .attributes = std::move(attributes),
              .name = name},
             opset_);
  return name;
}

void NodeExport::output(const std::string& type, written::Texts inputs, Attributes attributes,
                        std::size_t i) {
  scope_.add({.type = type,
              .inputs = std::move(inputs),
              .outputs = {node_.outputs[i]},
              .attributes = std::move(attributes),
              .name = i == 0 ? node_.name : node_.outputs[i]},
             opset_);
}

void NodeExport::add_node(written::Node node, std::int64_t version) {
  scope_.add(std::move(node), version);
}

std::string NodeExport::integers_constant(const std::vector<std::int64_t>& elements) {
  return constant(Tensor::from(elements, {static_cast<std::int64_t>(elements.size())}));
}

std::string NodeExport::integer_constant(std::int64_t value) {
  return constant(Tensor::from({value}, Shape::scalar()));
}

std::optional<Tensor> as_scalar(double value, DType dtype) {
  auto made = Tensor::empty(dtype, Shape::scalar());
  if (low_bit.has(dtype)) {
    if (!fits_low_bit(dtype, value)) return std::nullopt;
    return full(dtype, Shape::scalar(), value);
  }
  bool near = true;
  visit<every_type>(dtype, [&]<class T>() {
    auto& element = *static_cast<T*>(made.data());
    if constexpr (std::is_integral_v<T>) {
      near = std::trunc(value) == value && std::abs(value) < 0x1p31;
      element = near ? static_cast<T>(value) : T();
      near = near && static_cast<double>(element) == value;
    } else if constexpr (std::is_same_v<T, double>) {
      element = value;
    } else if constexpr (requires(T one) { static_cast<float>(one); }) {
      near = written::has_float(value);
      element = near ? static_cast<T>(value) : T();
      const auto found = static_cast<double>(static_cast<float>(element));
      near =
          near && (!std::isfinite(value) || (std::isfinite(found) && (found != 0 || value == 0)));
    } else {
      element = static_cast<T>(value);
    }
  });
  return near ? std::optional(made) : std::nullopt;
}

std::string NodeExport::scalar(double value, DType dtype) {
  const auto made = as_scalar(value, dtype);
  if (!made) is_lossy_ = true;
  return constant(made ? *made : Tensor::zeros(dtype, Shape::scalar()));
}

std::string NodeExport::cast(const std::string& value, DType dtype) {
  return add("Cast", {value}, {{"to", std::int64_t{written::number_of(dtype)}}});
}

std::string NodeExport::reduce(const std::string& type, const std::string& value,
                               const std::vector<std::int64_t>& axes, bool keepdims) {
  Attributes attributes{{"keepdims", keepdims}};
  written::Texts inputs{value};
  const bool is_input = opset_ >= (type == "ReduceSum" ? 13 : 18);
  if (!axes.empty() && is_input) inputs.push_back(integers_constant(axes));
  if (!axes.empty() && !is_input) attributes.push_back({"axes", axes});
  return add(type, std::move(inputs), std::move(attributes));
}

}  // namespace tenon::onnx

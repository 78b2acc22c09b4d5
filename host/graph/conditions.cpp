#include "graph/conditions.hpp"

#include <algorithm>
#include <string_view>
#include <variant>

#include "graph/strings.hpp"

namespace tenon {
namespace {

bool is_equal(const tenon_attribute& attribute, const AttributeValue& value) {
  return std::visit(
      [&]<class T>(const T& expected) {
        const bool number = attribute.kind == TENON_ATTR_INT || attribute.kind == TENON_ATTR_FLOAT;
        if constexpr (std::is_same_v<T, bool>)
          return attribute.kind == TENON_ATTR_BOOL && (attribute.i != 0) == expected;
        else if constexpr (std::is_same_v<T, std::string>)
          return attribute.kind == TENON_ATTR_TEXT &&
                 std::string_view(attribute.text, attribute.count) == expected;
        else if constexpr (std::is_same_v<T, std::int64_t>)
          return attribute.kind == TENON_ATTR_INT && attribute.i == expected;
        else if constexpr (std::is_same_v<T, double>)
          return number && (attribute.kind == TENON_ATTR_INT ? static_cast<double>(attribute.i)
                                                             : attribute.f) == expected;
        else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
          return attribute.kind == TENON_ATTR_INTS &&
                 std::equal(expected.begin(), expected.end(), attribute.ints,
                            attribute.ints + attribute.count);
        else if constexpr (std::is_same_v<T, std::vector<std::string>>)
          return attribute.kind == TENON_ATTR_TEXTS &&
                 std::string_view(attribute.text, attribute.count) == joined_texts(expected);
        else if constexpr (std::is_same_v<T, Tensor>)
          return attribute.kind == TENON_ATTR_TENSOR &&
                 same_bits(Tensor::borrow(*attribute.tensor), expected);
        else
          return attribute.kind == TENON_ATTR_FLOATS &&
                 std::equal(expected.begin(), expected.end(), attribute.floats,
                            attribute.floats + attribute.count);
      },
      value.variant());
}

bool is_met(const OperatorInfo& info, const ConditionInfo& condition,
            std::span<const tenon_attribute> attributes) {
  const auto attribute = std::find_if(
      attributes.begin(), attributes.end(),
      [&](const tenon_attribute& attribute) { return attribute.name == condition.param; });
  const auto& values = condition.values;
  if (attribute != attributes.end())
    return std::any_of(values.begin(), values.end(),
                       [&](const AttributeValue& value) { return is_equal(*attribute, value); });
  const auto& by_default =
      info.params[static_cast<std::size_t>(info.find_param(condition.param))].default_value;
  return std::find(values.begin(), values.end(), by_default) != values.end();
}

void set_read(OperatorInfo& info, const std::string& name, bool read) {
  if (const int input = info.find_input(name); input >= 0)
    info.backward_reads_input[static_cast<std::size_t>(input)] = read;
  if (const int output = info.find_output(name); output >= 0)
    info.backward_reads_output[static_cast<std::size_t>(output)] = read;
}

void apply(OperatorInfo& info, const ConditionInfo& condition) {
  const auto& names = condition.names;
  if (condition.of == "backward_reads") return set_read(info, names[0], true);
  if (condition.of == "inplace")
    return static_cast<void>(
        info.inplace.emplace_back(info.find_input(names[0]), info.find_output(names[1])));
  if (condition.of == "backward_inplace")
    return static_cast<void>(
        info.backward_inplace.emplace_back(info.find_output(names[0]), info.find_input(names[1])));
  if (condition.of == "linear")
    return static_cast<void>(info.linear.emplace_back(
        info.find_input(names[0]), names.size() > 1 ? info.find_input(names[1]) : -1));
  auto& output = info.outputs[static_cast<std::size_t>(info.find_output(names[0]))];
  output.hidden = output.left_out = true;
}

}  // namespace

std::shared_ptr<const OperatorInfo> with_parameters(std::shared_ptr<const OperatorInfo> info,
                                                    std::span<const tenon_attribute> attributes) {
  const bool derivative =
      info->derivative &&
      std::any_of(attributes.begin(), attributes.end(), [](const tenon_attribute& attribute) {
        return std::string_view(attribute.name) == "derivative";
      });
  if (info->conditions.empty() && !derivative) return info;
  auto resolved = std::make_shared<OperatorInfo>(*info);
  if (derivative) {  // a derivative is another function, differentiated by dual numbers
    resolved->backward_reads_input.assign(info->inputs.size(), true);
    resolved->backward_reads_output.assign(info->outputs.size(), false);
    resolved->linear.clear();
    return resolved;
  }
  for (const auto& condition : info->conditions)
    if (condition.of == "backward_reads") set_read(*resolved, condition.names[0], false);
  for (const auto& condition : info->conditions)
    if (is_met(*info, condition, attributes)) apply(*resolved, condition);
  return resolved;
}

}  // namespace tenon

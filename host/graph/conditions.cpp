#include "graph/conditions.hpp"

#include <algorithm>
#include <string_view>
#include <variant>

#include "graph/joined_texts.hpp"

namespace tenon {
namespace {

bool is_equal(const tenon_attribute& given, const AttributeValue& value) {
  return std::visit(
      [&]<class T>(const T& wanted) {
        const bool number = given.kind == TENON_ATTR_INT || given.kind == TENON_ATTR_FLOAT;
        if constexpr (std::is_same_v<T, bool>)
          return given.kind == TENON_ATTR_BOOL && (given.i != 0) == wanted;
        else if constexpr (std::is_same_v<T, std::string>)
          return given.kind == TENON_ATTR_TEXT &&
                 std::string_view(given.text, given.count) == wanted;
        else if constexpr (std::is_same_v<T, std::int64_t>)
          return given.kind == TENON_ATTR_INT && given.i == wanted;
        else if constexpr (std::is_same_v<T, double>)
          return number &&
                 (given.kind == TENON_ATTR_INT ? static_cast<double>(given.i) : given.f) == wanted;
        else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>)
          return given.kind == TENON_ATTR_INTS &&
                 std::equal(wanted.begin(), wanted.end(), given.ints, given.ints + given.count);
        else if constexpr (std::is_same_v<T, std::vector<std::string>>)
          return given.kind == TENON_ATTR_TEXTS &&
                 std::string_view(given.text, given.count) == joined_texts(wanted);
        else if constexpr (std::is_same_v<T, Tensor>)
          return given.kind == TENON_ATTR_TENSOR &&
                 same_bits(Tensor::borrow(*given.tensor), wanted);
        else
          return given.kind == TENON_ATTR_FLOATS &&
                 std::equal(wanted.begin(), wanted.end(), given.floats, given.floats + given.count);
      },
      value.variant());
}

bool holds(const OperatorInfo& info, const ConditionInfo& condition,
           std::span<const tenon_attribute> attributes) {
  const auto given = std::find_if(
      attributes.begin(), attributes.end(),
      [&](const tenon_attribute& attribute) { return attribute.name == condition.param; });
  const auto& values = condition.values;
  if (given != attributes.end())
    return std::any_of(values.begin(), values.end(),
                       [&](const AttributeValue& value) { return is_equal(*given, value); });
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
    if (holds(*info, condition, attributes)) apply(*resolved, condition);
  return resolved;
}

}  // namespace tenon

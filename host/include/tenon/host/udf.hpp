// Operators of the application: classes like those of plugins, used without a plugin. A class's template arguments and the state of an
// object beyond its parameters are not part of the operator.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/elementwise.hpp>
#include <tenon/host/api.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/host.hpp>
#include <tenon/operator.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace tenon {
namespace internal {

/// `MyOp` from the type's full name, which the compiler prints in the name of this function.
template <class Op>
std::string_view class_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(text.find("Op = ") + 5);
  text = text.substr(0, text.find_first_of(";]"));
  const auto colon = text.rfind("::");
  return colon == std::string_view::npos ? text : text.substr(colon + 2);
}

/// `MyOp` -> `my_op`
TENON_API std::string snake_case(std::string_view name);

template <class Value>
AttributeValue attribute_from(const Value& value) {
  if constexpr (std::is_same_v<Value, bool>)
    return value;
  else if constexpr (std::is_integral_v<Value>)
    return static_cast<std::int64_t>(value);
  else if constexpr (std::is_floating_point_v<Value>)
    return static_cast<double>(value);
  else if constexpr (std::is_convertible_v<Value, std::string_view>)
    return std::string(std::string_view(value));
  else
    return std::vector(value.begin(), value.end());
}

}  // namespace internal

template <class Op>
std::string Host::add(std::string_view name) {
  std::string chosen = name.empty() ? internal::snake_case(internal::class_name<Op>()) : std::string(name);
  add_operator(manifest_of<Op>(chosen), table_of<Op>());
  return chosen;
}

template <class Op>
std::string Host::add(std::string_view name, std::function<Op()> make) {
  using Whole = Completed<Op>;
  std::string chosen = name.empty() ? internal::snake_case(internal::class_name<Op>()) : std::string(name);
  if (!make) throw Failure(FailureKind::usage, "operator '" + chosen + "' is added with an empty function, but it must return its objects");
  add_operator(manifest_of<Op>(chosen), table_of<Op>(), [make = std::move(make)](const tenon_attribute* attributes, std::uint64_t count) {
    auto object = std::make_unique<Whole>();
    static_cast<Op&>(*object) = make();
    detail::set_attributes(*object, attributes, count, detail::names_of<Whole>.params);
    object->configure();
    return static_cast<void*>(object.release());
  });
  return chosen;
}

template <class Op>
Value Graph::udf(const Op& op, const std::vector<Value>& inputs, std::string_view name) {
  const auto type = internal::snake_case(internal::class_name<Op>());
  if (host().catalog().find(type) == nullptr) host().template add<Op>(type);
  Attributes attributes;
  attributes_of(
      op, [&](std::string_view parameter, const auto& value) { attributes.set(std::string(parameter), internal::attribute_from(value)); });
  return add(type, inputs, attributes, name);
}

}  // namespace tenon

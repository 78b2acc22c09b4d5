// Operators of the application: classes like those of plugins, used without a plugin.
#pragma once
#include <algorithm>
#include <cstddef>
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

/// `MyOp`, or `Plus<3>`, from the type's full name, which the compiler prints in the name of this function.
template <class Op>
std::string_view class_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text = text.substr(text.find("Op = ") + 5);
  text = text.substr(0, text.find_first_of(";]"));
  const auto colon = text.substr(0, text.find('<')).rfind("::");
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
  else if constexpr (std::is_same_v<Value, Texts>)
    return std::vector<std::string>(value.begin(), value.end());
  else if constexpr (requires { value.shape(); })
    return Tensor::from(std::span(value.begin(), value.end()), value.shape());
  else
    return std::vector(value.begin(), value.end());
}

/// Objects that begin as `make` returns them, with a node's parameters.
template <class Op, class Make>
OperatorFactory factory_of(Make make) {
  return [make = std::move(make)](const tenon_attribute* attributes, std::uint64_t count) {
    using Whole = Completed<Op>;
    auto object = std::make_unique<Whole>();
    static_cast<Op&>(*object) = make();
    detail::set_attributes(*object, attributes, count, detail::names_of<Whole>.params);
    object->configure();
    return static_cast<void*>(object.release());
  };
}

/// Where the parameters of an object lie in it.
template <class Op>
class MemberSpans : public detail::NullDescriber {
 public:
  explicit MemberSpans(const Op& object) : object_(&object) { Op::describe(*this); }

  template <class Base, class M>
  detail::Parameter<M, detail::IgnoredParameter> param(const char*, M Base::*member, const char*) {
    const auto* begin = reinterpret_cast<const char*>(&(object_->*member));
    spans_.push_back({static_cast<std::size_t>(begin - reinterpret_cast<const char*>(object_)), sizeof(M), alignof(M)});
    return detail::Parameter<M, detail::IgnoredParameter>({});
  }

  /// Whether nothing but padding lies between and behind them. A member that fits into padding is overlooked.
  bool all_parameters() {
    if (std::is_empty_v<Op>) return true;
    std::sort(spans_.begin(), spans_.end(), [](const Span& left, const Span& right) { return left.begin < right.begin; });
    std::size_t end = 0;
    for (const Span& span : spans_) {
      if (span.begin > aligned(end, span.alignment)) return false;
      end = span.begin + span.size;
    }
    return aligned(end, alignof(Op)) == sizeof(Op);
  }

 private:
  struct Span {
    std::size_t begin, size, alignment;
  };
  static std::size_t aligned(std::size_t offset, std::size_t alignment) { return (offset + alignment - 1) / alignment * alignment; }
  const Op* object_;
  std::vector<Span> spans_;
};

}  // namespace internal

template <class Op>
std::string Host::add(std::string_view name) {
  std::string chosen = name.empty() ? internal::snake_case(internal::class_name<Op>()) : std::string(name);
  return add_operator(manifest_of<Op>(chosen), table_of<Op>());
}

template <class Op>
std::string Host::add(std::string_view name, std::function<Op()> make) {
  std::string chosen = name.empty() ? internal::snake_case(internal::class_name<Op>()) : std::string(name);
  if (!make) throw Failure(FailureKind::usage, "operator '" + chosen + "' is added with an empty function, but it must return its objects");
  return add_operator(manifest_of<Op>(chosen), table_of<Op>(), internal::factory_of<Op>(std::move(make)));
}

template <class Op>
Value Graph::udf(const Op& op, const std::vector<Value>& inputs, std::string_view name) {
  Attributes attributes;
  attributes_of(
      op, [&](std::string_view parameter, const auto& value) { attributes.set(std::string(parameter), internal::attribute_from(value)); });
  const std::string class_name(internal::class_name<Op>());
  return add_object({table_of<Op>(), class_name, internal::MemberSpans(op).all_parameters() ? std::string() : class_name, manifest_of<Op>,
                     internal::factory_of<Op>([op] { return op; })},
                    inputs, attributes, name);
}

}  // namespace tenon

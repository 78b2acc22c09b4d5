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

/// `MyOp`, or `Plus<3>`: extracted from the type's full name, which the compiler puts into this
/// function's name.
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

/// A factory that starts with the object returned by `make` and sets a node's parameters.
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

/// Copies the parameters of one object to another.
template <class Op>
class CopyParameters : public detail::NullDescriber {
 public:
  CopyParameters(const Op& from, Op& to) : from_(&from), to_(&to) {}

  template <class Base, class M>
  detail::Parameter<M, detail::IgnoredParameter> param(const char*, M Base::*member, const char*) {
    to_->*member = from_->*member;
    return detail::Parameter<M, detail::IgnoredParameter>({});
  }

 private:
  const Op* from_;
  Op* to_;
};

/// Constructs an object in zeroed memory, so that its padding is zero. The barrier keeps the
/// compiler from dropping the zeros.
template <class T>
class InZeroedMemory {
 public:
  InZeroedMemory() {
    asm volatile("" : : "r"(static_cast<void*>(memory_)) : "memory");
    object_ = new (memory_) T();
  }
  ~InZeroedMemory() { object_->~T(); }
  InZeroedMemory(const InZeroedMemory&) = delete;
  InZeroedMemory& operator=(const InZeroedMemory&) = delete;
  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }

 private:
  alignas(T) std::byte memory_[sizeof(T)] = {};
  T* object_;
};

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define TENON_CLEARS_PADDING
#endif
#endif

/// The byte ranges of an object's members that files store or configure() computes: parameters, and
/// the members named by op.derived().
template <class Op>
class MemberSpans : public detail::NullDescriber {
 public:
  explicit MemberSpans(const Op& object) : object_(&object) {
    Op::describe(*this);
    std::sort(spans_.begin(), spans_.end(),
              [](const Span& left, const Span& right) { return left.begin < right.begin; });
  }

  template <class Base, class M>
  detail::Parameter<M, detail::IgnoredParameter> param(const char*, M Base::*member, const char*) {
    add(member);
    return detail::Parameter<M, detail::IgnoredParameter>({});
  }
  template <class... Members>
  void derived(Members... members) {
    (add(members), ...);
  }

  /// Whether an object created from the parameters only, after configure(), equals this one.
  /// Members that are neither parameters nor derived are compared byte by byte, so those that own
  /// memory count as different unless they are empty.
  bool follow_from_parameters() const {
    if (std::is_empty_v<Op> || are_all()) return true;
    if constexpr (std::is_copy_assignable_v<Op>) {
      try {
        const InZeroedMemory<Completed<Op>> configured, reconstructed;
        static_cast<Op&>(*configured) = *object_;
        CopyParameters<Op> copy(*object_, *reconstructed);
        Op::describe(copy);
        configured->configure(), reconstructed->configure();
        return same_elsewhere(bytes_of(*configured), bytes_of(*reconstructed));
      } catch (...) {  // add_object() rejects the node
      }
    }
    return false;
  }

 private:
  struct Span {
    std::size_t begin, size, alignment;
  };
  template <class Base, class M>
  void add(M Base::*member) {
    const auto* begin = reinterpret_cast<const char*>(&(object_->*member));
    spans_.push_back({static_cast<std::size_t>(begin - reinterpret_cast<const char*>(object_)),
                      sizeof(M), alignof(M)});
  }
  static const char* bytes_of(Op& object) {
#ifdef TENON_CLEARS_PADDING
    if constexpr (std::is_trivially_copyable_v<Op>)
      __builtin_clear_padding(&object);  // assignment copies padding
#endif
    return reinterpret_cast<const char*>(&object);
  }
  /// If the compiler cannot clear padding, a member that fits into padding is overlooked.
  bool are_all() const {
#ifdef TENON_CLEARS_PADDING
    if constexpr (std::is_trivially_copyable_v<Op>) {
      alignas(Op) char values[sizeof(Op)];
      const char padding[sizeof(Op)] = {};
      std::fill_n(values, sizeof(Op), char{1});
      __builtin_clear_padding(reinterpret_cast<Op*>(values));
      return same_elsewhere(values, padding);
    }
#endif
    std::size_t end = 0;
    for (const Span& span : spans_) {
      if (span.begin > aligned(end, span.alignment)) return false;
      end = span.begin + span.size;
    }
    return aligned(end, alignof(Op)) == sizeof(Op);
  }
  bool same_elsewhere(const char* left, const char* right) const {
    std::size_t end = 0;
    for (const Span& span : spans_) {
      if (span.begin > end && !std::equal(left + end, left + span.begin, right + end)) return false;
      end = std::max(end, span.begin + span.size);
    }
    return std::equal(left + end, left + sizeof(Op), right + end);
  }
  static std::size_t aligned(std::size_t offset, std::size_t alignment) {
    return (offset + alignment - 1) / alignment * alignment;
  }
  const Op* object_;
  std::vector<Span> spans_;
};

}  // namespace internal

template <class Op>
std::string Host::add(std::string_view name) {
  std::string chosen =
      name.empty() ? internal::snake_case(internal::class_name<Op>()) : std::string(name);
  return add_operator(manifest_of<Op>(chosen), table_of<Op>());
}

template <class Op>
std::string Host::add(std::string_view name, std::function<Op()> make) {
  std::string chosen =
      name.empty() ? internal::snake_case(internal::class_name<Op>()) : std::string(name);
  if (!make)
    throw Failure(FailureKind::usage,
                  "operator '" + chosen +
                      "' is added with an empty function, but needs one that returns its objects");
  return add_operator(manifest_of<Op>(chosen), table_of<Op>(),
                      internal::factory_of<Op>(std::move(make)));
}

template <class Op>
Value Graph::udf(const Op& op, const std::vector<Value>& inputs, std::string_view name) {
  Attributes attributes;
  attributes_of(op, [&](std::string_view parameter, const auto& value) {
    attributes.set(std::string(parameter), internal::attribute_from(value));
  });
  const std::string class_name(internal::class_name<Op>());
  return add_object(
      {table_of<Op>(), class_name,
       internal::MemberSpans(op).follow_from_parameters() ? std::string() : class_name,
       manifest_of<Op>, internal::factory_of<Op>([op] { return op; })},
      inputs, attributes, name);
}

}  // namespace tenon

// The parameters of one node or call, by name.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <tenon/host/api.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/host/tensor.hpp>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tenon {

/// One parameter's value: a bool, a number, a text, a list of numbers or of texts, or a small
/// tensor, whose elements are copied when a node or a call takes it. A number, or a tensor's
/// elements, convert to the operator's declared type if that is lossless: 3 fits a float parameter,
/// 3.5 does not fit an integer one. Integers that do not fit int64 throw Failure (usage).
/// Characters are integers: 'a' is 97, "a" is a text, {"a"} is a list of one text.
class AttributeValue {
  /// One element of a braced list, which may mix integers and other numbers: {0.5, 1}.
  struct Number {
    template <class T>
    requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) Number(T number)
        : whole(std::is_integral_v<T>), real(static_cast<double>(number)) {
      if constexpr (std::is_integral_v<T>) integer = fitting(number);
    }
    bool whole;
    std::int64_t integer = 0;
    double real;
  };
  /// One text of a braced list.
  struct Word {
    template <class T>
    requires std::is_convertible_v<const T&, std::string_view> Word(const T& word) : text(word) {}
    std::string_view text;
  };

 public:
  using Variant = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>, Tensor>;
  template <class T>
  requires std::is_arithmetic_v<T> AttributeValue(T value) : value_(from_number(value)) {}
  AttributeValue(const char* value) : value_(std::string(value)) {}
  AttributeValue(std::string value) : value_(std::move(value)) {}
  AttributeValue(std::string_view value) : value_(std::string(value)) {}
  /// {1, 2} is a list of integers, {0.5, 1} a list of numbers.
  AttributeValue(std::initializer_list<Number> values) {
    if (std::all_of(values.begin(), values.end(),
                    [](const Number& number) { return number.whole; })) {
      auto& list = value_.emplace<std::vector<std::int64_t>>();
      for (const auto& number : values) list.push_back(number.integer);
    } else {
      auto& list = value_.emplace<std::vector<double>>();
      for (const auto& number : values) list.push_back(number.real);
    }
  }
  /// {"a", "b"} is a list of texts. A template, so that {} stays a list of integers, which converts
  /// to any list.
  template <class = void>
  AttributeValue(std::initializer_list<Word> words) {
    auto& list = value_.emplace<std::vector<std::string>>();
    for (const auto& word : words) list.emplace_back(word.text);
  }
  AttributeValue(std::vector<std::string> value) : value_(std::move(value)) {}
  /// Shares the elements until a node or a call takes them. An empty handle throws Failure (usage).
  AttributeValue(Tensor value) : value_(std::move(value)) {
    if (!std::get<Tensor>(value_))
      throw Failure(FailureKind::usage, "a parameter is an empty tensor handle");
  }
  AttributeValue(std::vector<std::int64_t> value) : value_(std::move(value)) {}
  AttributeValue(std::vector<double> value) : value_(std::move(value)) {}
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      AttributeValue(const std::vector<T>& values) {
    using Element = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
    auto& list = value_.emplace<std::vector<Element>>();
    for (const T value : values) list.push_back(std::get<Element>(from_number(value)));
  }
  const Variant& variant() const { return value_; }
  /// Whether both have the same kind and value; for tensors, the same dtype, shape and bits.
  friend bool operator==(const AttributeValue& left, const AttributeValue& right) {
    const auto* tensor = std::get_if<Tensor>(&left.value_);
    const auto* other = std::get_if<Tensor>(&right.value_);
    if (tensor != nullptr && other != nullptr) return same_bits(*tensor, *other);
    return left.value_.index() == right.value_.index() &&
           std::visit(
               [&]<class T>(const T& value) {
                 if constexpr (std::is_same_v<T, Tensor>)
                   return false;
                 else
                   return value == std::get<T>(right.value_);
               },
               left.value_);
  }

 private:
  template <class T>
  static std::int64_t fitting(T value) {
    const auto number = +value;  // std::in_range does not accept character types
    if (!std::in_range<std::int64_t>(number))
      throw Failure(FailureKind::usage,
                    "the number " + std::to_string(number) +
                        " does not fit a parameter, which holds int64: at most " +
                        std::to_string(std::numeric_limits<std::int64_t>::max()));
    return static_cast<std::int64_t>(number);
  }
  template <class T>
  static Variant from_number(T value) {
    if constexpr (std::is_same_v<T, bool>)
      return value;
    else if constexpr (std::is_integral_v<T>)
      return fitting(value);
    else
      return static_cast<double>(value);
  }

  Variant value_;
};

/// Formats a value as in source code: `true`, `0.5`, `[1, 2]`, `["a", "b"]`, `float32 [2, 2] {1, 2,
/// 3, 4}`.
TENON_API std::string to_string(const AttributeValue& value);

/// Parameters by name, in insertion order: {{"axis", 1}, {"keepdims", true}}. Duplicate names are
/// an error when an operator checks them.
class Attributes {
 public:
  using Entry = std::pair<std::string, AttributeValue>;
  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries) : entries_(entries) {}
  void set(std::string name, AttributeValue value) {
    entries_.emplace_back(std::move(name), std::move(value));
  }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace tenon

// Rules between two parameters, checked when an object's parameters are set. For the SDK.
//
//     op.require("stride", tenon::same_length, "kernel");   in describe()
//     RuleSide left("stride"), right("kernel");             two visitors, which attributes.hpp shows the object's parameters
//     check_rule("same_length", left, right);               throws Error (parameter)
//
// The plugin checks its rules itself, so that they hold with every host; the manifest has them for documents and for `tenon check`.
// Threads: everything here is used by one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "error.hpp"
#include "list.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// A visitor of an object's parameters that keeps the numbers of one of them. It passes over all others, and over bools, texts and enums,
/// which rules do not take (description_checks.hpp). A list has at most Ints::capacity values, a number is one value.
struct RuleSide {
  std::string_view wanted;  ///< the parameter's name, a literal of describe()
  std::string text;         ///< as users read it
  bool list = false, whole = false;
  std::size_t count = 0;  ///< of numbers
  double numbers[Ints::capacity];
  std::int64_t integers[Ints::capacity];  ///< where whole: exact beyond 2^53

  /// name: the parameter to keep.
  explicit RuleSide(std::string_view name) : wanted(name) {}
  /// What attributes_of() calls, once for each parameter. The name is compared, so that one visit finds one parameter.
  template <class Value>
  void operator()(std::string_view name, const Value& value) {
    if (name != wanted) return;
    if constexpr (std::is_same_v<Value, Ints> || std::is_same_v<Value, Floats>) {
      list = true;
      for (const auto& item : value) put(item);
      append_part(text, value);
    } else if constexpr (std::is_arithmetic_v<Value>) {
      put(value);
      append_text(text, join(value));
    }
  }

 private:
  // There is room: no list is longer.
  template <class Number>
  void put(Number number) {
    whole = std::is_integral_v<Number>;
    integers[count] = static_cast<std::int64_t>(whole ? number : 0);
    numbers[count++] = static_cast<double>(number);
  }
};

// The relation between two numbers of one type, by its name in manifests; those that are about lists or multiples are not asked here.
// NaN keeps no rule, as it keeps no bound.
template <class T>
bool keeps_order(std::string_view relation, T left, T right) {
  return relation == "less_than"      ? left < right
         : relation == "at_most"      ? left <= right
         : relation == "greater_than" ? left > right
                                      : left >= right;
}

/// Value l of one against value r of the other. Of 0, only 0 is a multiple; everything is one of 1 and -1.
inline bool keeps_rule(std::string_view relation, const RuleSide& left, std::size_t l, const RuleSide& right, std::size_t r) {
  if (!left.whole || !right.whole) return keeps_order(relation, left.numbers[l], right.numbers[r]);
  const std::int64_t value = left.integers[l], other = right.integers[r];
  if (relation != "multiple_of") return keeps_order(relation, value, other);
  return other == 0 ? value == 0 : other == -1 || value % other == 0;
}

/// Every value of the left must keep the relation to the one at its place on the right. A number stands for as many values as the other
/// side has; an empty list was not given, and keeps every rule. Numbers are compared as integers if both are, and as doubles otherwise.
/// Errors (parameter), with both values, as users read them:
///
///     parameter 'stride' is [2] but must have as many values as 'kernel', which is [3, 3]
///     parameter 'low' is 1 but must be less than 'high', which is 1
[[gnu::cold]] inline void check_rule(std::string_view relation, const RuleSide& left, const RuleSide& right) {
  const auto refuse = [&](std::string_view needed) {
    fail(ErrorKind::parameter,
         {"parameter '", left.wanted, "' is ", left.text, " but must ", needed, " '", right.wanted, "', which is ", right.text});
  };
  if ((left.list && left.count == 0) || (right.list && right.count == 0)) return;  // not given
  if (left.list && right.list && left.count != right.count) refuse("have as many values as");
  if (relation == "same_length") return;
  // The message has the whole lists: which of the values it is, users see.
  const std::size_t values = left.count > right.count ? left.count : right.count;
  for (std::size_t i = 0; i < values; ++i) {
    if (keeps_rule(relation, left, left.list ? i : 0, right, right.list ? i : 0)) continue;
    refuse(relation == "multiple_of"    ? "be a multiple of"
           : relation == "less_than"    ? "be less than"
           : relation == "at_most"      ? "be at most"
           : relation == "greater_than" ? "be greater than"
                                        : "be at least");
  }
}

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop

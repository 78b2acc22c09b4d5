// Rules between two parameters, checked when an object's parameters are set. For the SDK.
//
//     op.require("stride", tenon::same_length, "kernel");   in describe()
//     RuleSide left("stride"), right("kernel");             two visitors of the object's parameters
//                                                           (attributes.hpp)
//     check_rule("same_length", left, right);               throws Error (parameter)
//
// The plugin checks its rules itself, so that they hold with every host; the manifest contains them
// for documentation and for `tenon check`. Not thread-safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "../error.hpp"
#include "../list.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// A visitor of an object's parameters that records the numbers of one of them. It ignores all
/// others, and bools, texts and enums, which rules do not support (description_checks.hpp). A list
/// has at most Ints::capacity values; a number counts as one value.
struct RuleSide {
  std::string_view parameter_name;  ///< the parameter's name, a string literal of describe()
  std::string text;                 ///< as users see it
  bool list = false, whole = false;
  std::size_t count = 0;  ///< of numbers
  double numbers[Ints::capacity];
  std::int64_t integers[Ints::capacity];  ///< if all values are integers: exact beyond 2^53

  /// `name`: the parameter to record.
  explicit RuleSide(std::string_view name) : parameter_name(name) {}
  /// Called by attributes_of() for each parameter; compares the name, so one visit records one
  /// parameter.
  template <class Value>
  void operator()(std::string_view name, const Value& value) {
    if (name != parameter_name) return;
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

// The relation between two numbers of one type, by its name in manifests; not used for relations on
// lists or multiples. NaN violates every rule, as it violates every bound.
template <class T>
bool satisfies_order(std::string_view relation, T left, T right) {
  return relation == "less_than"      ? left < right
         : relation == "at_most"      ? left <= right
         : relation == "greater_than" ? left > right
                                      : left >= right;
}

/// Compares value l of one side with value r of the other. The only multiple of 0 is 0; everything
/// is a multiple of 1 and -1.
inline bool satisfies_rule(std::string_view relation, const RuleSide& left, std::size_t l,
                           const RuleSide& right, std::size_t r) {
  if (!left.whole || !right.whole)
    return satisfies_order(relation, left.numbers[l], right.numbers[r]);
  const std::int64_t value = left.integers[l], other = right.integers[r];
  if (relation != "multiple_of") return satisfies_order(relation, value, other);
  return other == 0 ? value == 0 : other == -1 || value % other == 0;
}

/// Every value on the left must satisfy the relation to the corresponding value on the right. A
/// number is compared with all values of the other side; an empty list counts as not set and
/// satisfies every rule. Numbers are compared as integers if both are, otherwise as doubles. Errors
/// (parameter) show both values:
///
///     parameter 'stride' is [2] but must have as many values as 'kernel', which is [3, 3]
///     parameter 'low' is 1 but must be less than 'high', which is 1
[[gnu::cold]] inline void check_rule(std::string_view relation, const RuleSide& left,
                                     const RuleSide& right) {
  const auto refuse = [&](std::string_view needed) {
    fail(ErrorKind::parameter,
         {"parameter '", left.parameter_name, "' is ", left.text, " but must ", needed, " '",
          right.parameter_name, "', which is ", right.text});
  };
  if ((left.list && left.count == 0) || (right.list && right.count == 0)) return;  // not set
  if (left.list && right.list && left.count != right.count) refuse("have as many values as");
  if (relation == "same_length") return;
  // The message shows the whole lists.
  const std::size_t values = left.count > right.count ? left.count : right.count;
  for (std::size_t i = 0; i < values; ++i) {
    if (satisfies_rule(relation, left, left.list ? i : 0, right, right.list ? i : 0)) continue;
    refuse(relation == "multiple_of"    ? "be a multiple of"
           : relation == "less_than"    ? "be less than"
           : relation == "at_most"      ? "be at most"
           : relation == "greater_than" ? "be greater than"
                                        : "be at least");
  }
}

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop

// Literal values of parameters in describe(), except those of op.param(). For declarations.hpp and
// onnx_declarations.hpp.
//
//     op.example({{"data", {2, 3}}}, {{"axis", 1}, {"kernel", {3, 3}}, {"mode", "max"}});
//     op.backward_reads("output").when("kind", "max");
//     op.onnx("", "ReduceSum").attribute("keepdims", "keepdims", 1);
//
// The C++ type determines the kind of literal; the host checks whether it fits the parameter's kind
// when it reads the manifest.
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "../version.hpp"
#include "description.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// A value in op.example(), .when(), .was() and op.onnx(): true, 2, 0.5, "max", or a list of
/// integers, doubles or texts. A number is an integer if its C++ type is one.
struct LiteralValue {
  template <class T>
  requires std::is_arithmetic_v<T>
  constexpr LiteralValue(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      literal.type = LiteralEntry::Type::boolean, literal.integer = value;
    } else if constexpr (std::is_integral_v<T>) {
      literal.integer = static_cast<std::int64_t>(value);
    } else {
      literal.type = LiteralEntry::Type::number, literal.number = static_cast<double>(value);
    }
  }
  constexpr LiteralValue(const char* text) {
    literal.type = LiteralEntry::Type::text, literal.text = text;
  }
  constexpr LiteralValue(std::initializer_list<std::int64_t> values) : list(values) {
    literal.type = LiteralEntry::Type::list;
  }
  template <std::same_as<double> Number>
  constexpr LiteralValue(std::initializer_list<Number> values) : numbers(values) {
    literal.type = LiteralEntry::Type::numbers;
  }
  constexpr LiteralValue(std::initializer_list<const char*> values) : texts(values) {
    literal.type = LiteralEntry::Type::texts;
  }
  LiteralEntry literal;                      ///< without the elements of lists
  std::initializer_list<std::int64_t> list;  ///< lives as long as the call
  std::initializer_list<double> numbers;
  std::initializer_list<const char*> texts;
};

/// Copies a literal, and its list to the description's pool: an initializer_list ends with its
/// statement.
///
///     {3, 3}        two items of d.literals
///     {0.5, 1.0}    two items of d.example_values
///     {"a", "b"}    two items of d.texts
///     2, true, "a"  nothing: the literal itself holds the value
///
/// A full pool sets Fixed::overflow, which the description's checks report.
constexpr LiteralEntry stored_literal(Description& d, const LiteralValue& value) {
  LiteralEntry literal = value.literal;
  const auto store = [&](auto& pool, const auto& items) {
    literal.first = pool.size, literal.count = static_cast<int>(items.size());
    for (const auto& item : items) pool.push(item);
  };
  if (literal.type == LiteralEntry::Type::list) store(d.literals, value.list);
  if (literal.type == LiteralEntry::Type::numbers) store(d.example_values, value.numbers);
  if (literal.type == LiteralEntry::Type::texts) store(d.texts, value.texts);
  return literal;
}

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop

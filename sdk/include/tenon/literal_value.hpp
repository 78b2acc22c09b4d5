// Values of parameters as an author writes them in describe(), outside of op.param(). For words.hpp and onnx_words.hpp.
//
//     op.example({{"data", {2, 3}}}, {{"axis", 1}, {"kernel", {3, 3}}, {"mode", "max"}});
//     op.backward_reads("output").when("kind", "max");
//     op.onnx("", "ReduceSum").attribute("keepdims", "keepdims", 1);
//
// Which kind of literal it is follows from the C++ type; whether it fits the parameter's kind, the host checks when it reads the manifest.
//
//     op.example({{"data", {2, 3}}}, {{"axis", 1}, {"kernel", {3, 3}}, {"mode", "max"}});
//     op.onnx("", "ReduceSum").attribute("keepdims", "keepdims", 1);
//
// Which kind of literal it is follows from the C++ type; whether it fits the parameter's, the host checks when it reads the manifest.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "description.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK::detail {

/// A value in op.example(), .when() and op.onnx(): true, 2, 0.5, "max", or a list of integers or texts. A number is an integer if its C++
/// type is one.
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
  constexpr LiteralValue(const char* text) { literal.type = LiteralEntry::Type::text, literal.text = text; }
  constexpr LiteralValue(std::initializer_list<std::int64_t> values) : list(values) { literal.type = LiteralEntry::Type::list; }
  constexpr LiteralValue(std::initializer_list<const char*> values) : texts(values) { literal.type = LiteralEntry::Type::texts; }
  LiteralEntry literal;                      ///< without the lists
  std::initializer_list<std::int64_t> list;  ///< lives as long as the call
  std::initializer_list<const char*> texts;
};

/// {3, 3} becomes two of d.literals, {"a", "b"} two of d.texts; everything else is in the literal itself.
/// Copies a literal, and its list into the description's pool: an initializer_list ends with the statement that wrote it.
constexpr LiteralEntry stored_literal(Description& d, const LiteralValue& value) {
  LiteralEntry literal = value.literal;
  const bool texts = literal.type == LiteralEntry::Type::texts;
  literal.first = texts ? d.texts.size : d.literals.size;
  literal.count = static_cast<int>(texts ? value.texts.size() : value.list.size());
  for (const std::int64_t item : value.list) d.literals.push(item);
  for (const char* text : value.texts) d.texts.push(text);
  return literal;
}

}  // namespace tenon::TENON_SDK::detail
#pragma GCC visibility pop

// How an author reports failure, and how reasons are put together from texts, numbers and shapes.
#pragma once
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "abi.h"
#include "visibility.hpp"

#pragma GCC visibility push(hidden)
namespace tenon {

/// What went wrong, coarsely: the host picks the words around the reason, and the exit code, by it.
enum class ErrorKind : std::int32_t {
  failed = TENON_ERROR_FAILED,        ///< the author's own reason
  parameter = TENON_ERROR_PARAMETER,  ///< a parameter is missing, unknown or out of range
  type = TENON_ERROR_TYPE,            ///< a shape, dtype or storage does not fit
  memory = TENON_ERROR_MEMORY,
  unknown = TENON_ERROR_UNKNOWN  ///< something was thrown that is not a std::exception
};

/// How texts grow in the SDK: of the many ways std::string has, each that is used is compiled into every plugin.
[[gnu::cold, gnu::noinline]] inline void append_text(std::string& text, std::string_view more) {
  text.append(more.data(), more.size());
}

/// One part of a reason, borrowed until the end of the statement: a text, a number, or any type with append_part(std::string&, const T&)
/// beside it (Shape, DType ...). One type for all, so that reasons cost a plugin little code and compile time.
class Part {
 public:
  Part(std::string_view text) : append_(&append_view), text_(text) {}
  Part(const std::string& text) : Part(std::string_view(text)) {}
  Part(const char* text) : Part(std::string_view(text)) {}
  template <class T>
  requires(!std::is_arithmetic_v<T> && std::is_convertible_v<const T&, std::string_view>) Part(const T& text)
      : Part(static_cast<std::string_view>(text)) {}
  Part(bool value) : Part(value ? "true" : "false") {}
  template <class Number>
  requires std::is_arithmetic_v<Number> Part(Number number) {
    if constexpr (std::is_same_v<Number, char>) {
      append_ = &append_char, signed_ = static_cast<unsigned char>(number);
    } else if constexpr (std::is_same_v<Number, float>) {
      append_ = &append_float, float_ = number;
    } else if constexpr (std::is_floating_point_v<Number>) {
      append_ = &append_double, double_ = static_cast<double>(number);
    } else if constexpr (std::is_signed_v<Number>) {
      append_ = &append_signed, signed_ = number;
    } else {
      append_ = &append_unsigned, unsigned_ = number;
    }
  }
  template <class T>
  requires requires(std::string& text, const T& value) { append_part(text, value); }
  Part(const T& value)
      : append_([](std::string& text, const Part& part) { append_part(text, *static_cast<const T*>(part.value_)); }), value_(&value) {}

  void append_to(std::string& text) const { append_(text, *this); }

 private:
  static void append_view(std::string& text, const Part& part) { append_text(text, part.text_); }
  static void append_char(std::string& text, const Part& part) {
    const char letter = static_cast<char>(part.signed_);
    append_text(text, {&letter, 1});
  }
  // Numbers print in the shortest form that reads back as the same number, whatever the locale.
  template <class Number>
  [[gnu::cold]] static void append_number(std::string& text, Number number) {
    char digits[32];
    append_text(text, {digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, number).ptr - digits)});
  }
  static void append_float(std::string& text, const Part& part) { append_number(text, part.float_); }
  static void append_double(std::string& text, const Part& part) { append_number(text, part.double_); }
  // Not by std::to_chars: for integers that is a template, which takes as long to compile as ten of these.
  [[gnu::cold]] static void append_digits(std::string& text, unsigned long long number) {
    char digits[20];
    char* first = digits + sizeof digits;
    do *--first = static_cast<char>('0' + number % 10);
    while (number /= 10);
    append_text(text, {first, static_cast<std::size_t>(digits + sizeof digits - first)});
  }
  [[gnu::cold]] static void append_signed(std::string& text, const Part& part) {
    const auto bits = static_cast<unsigned long long>(part.signed_);
    if (part.signed_ < 0) append_text(text, "-");
    append_digits(text, part.signed_ < 0 ? 0 - bits : bits);
  }
  static void append_unsigned(std::string& text, const Part& part) { append_digits(text, part.unsigned_); }

  void (*append_)(std::string& text, const Part& part);
  union {
    std::string_view text_;
    float float_;
    double double_;
    long long signed_;
    unsigned long long unsigned_;
    const void* value_;
  };
};

/// The parts as one text.
[[gnu::cold]] inline std::string join_parts(std::initializer_list<Part> parts) {
  std::string text;
  for (const Part& part : parts) part.append_to(text);
  return text;
}

/// The parts as one text: join("left is ", shape, " but k is ", 3).
template <class... Parts>
std::string join(const Parts&... parts) {
  return join_parts({Part(parts)...});
}

/// A failure with a reason for people, joined from its parts. Throw it from any member of an operator; the SDK catches it at the boundary
/// and the host adds node, operator, plugin and shapes. Anything else that is thrown is caught and reported too.
struct Error : std::runtime_error {
  explicit Error(const std::string& reason, ErrorKind kind = ErrorKind::failed) : std::runtime_error(reason), kind(kind) {}
  template <class... Parts>
  explicit Error(std::string_view reason, const Parts&... more) : Error(join(reason, more...)) {}
  template <class... Parts>
  explicit Error(ErrorKind kind, const Parts&... reason) : Error(join(reason...), kind) {}

  ErrorKind kind;
};

/// Throws an Error of these parts; how the SDK itself refuses.
[[noreturn, gnu::cold]] inline void fail(ErrorKind kind, std::initializer_list<Part> reason) {
  throw Error(join_parts(reason), kind);
}

}  // namespace tenon
#pragma GCC visibility pop

// How an author reports an error, and how messages are joined from texts, numbers and shapes.
//
//     // anywhere in a kernel or in configure()
//     throw tenon::Error("data is ", shape, " but axis is ", axis);
//     io.require(a == b, "left is ", a, " but right is ", b);  // in infer()
//     io.param_error("axis", "is ", axis, " but data has ", rank, " dimensions");
//
// The user reads
//
//     error: [take] node 't': data is [2, 3] but axis is 4 (data float32 [2, 3], index int64 [2])
//
// Write only the reason, in one sentence: what was found and what is needed. The host adds the
// operator, the node and the types of all inputs. A CUDA kernel cannot throw because of its
// elements: see gpu/fault.hpp.
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
#include "detail/visibility.hpp"

#pragma GCC visibility push(hidden)
namespace tenon {

/// A coarse category of the error. Error(kind, ...) sets it; most errors of authors are `failed`,
/// those of io.require are `type`.
enum class ErrorKind : std::int32_t {
  failed = TENON_ERROR_FAILED,        ///< the author's own reason
  parameter = TENON_ERROR_PARAMETER,  ///< a parameter is missing, unknown or out of range
  type = TENON_ERROR_TYPE,            ///< a shape, dtype or storage does not fit
  memory = TENON_ERROR_MEMORY,        ///< out of memory
  unknown = TENON_ERROR_UNKNOWN       ///< an exception other than std::exception
};

/// Appends to a text; call it in your own append_part(), too. The SDK appends only through this
/// function, because each of std::string's many ways that is used is compiled into every plugin.
[[gnu::cold, gnu::noinline]] inline void append_text(std::string& text, std::string_view more) {
  text.append(more.data(), more.size());
}

/// One part of a message, borrowed until the end of the statement: a text, a number, or any type
/// with a function append_part(std::string&, const T&) in its namespace (Shape, DType, Ints ...).
/// To use your own type, define such a function:
///
///     void append_part(std::string& text, const Point& point) {
///       tenon::append_text(text, tenon::join("(", point.x, ", ", point.y, ")"));
///     }
///
/// Parts convert implicitly from values; you need not name this type. It is one type for all
/// values, so that messages cost a plugin little code and compile time.
class MessagePart {
 public:
  MessagePart(std::string_view text) : append_(&append_view), text_(text) {}
  MessagePart(const std::string& text) : MessagePart(std::string_view(text)) {}
  /// Null, for example from getenv(), prints as "(null)".
  MessagePart(const char* text)
      : MessagePart(std::string_view(text != nullptr ? text : "(null)")) {}
  template <class T>
  requires(!std::is_arithmetic_v<T> && std::is_convertible_v<const T&, std::string_view>)
      MessagePart(const T& text)
      : MessagePart(static_cast<std::string_view>(text)) {}
  /// "true" or "false"; declared before the numbers, because a bool would convert to one.
  MessagePart(bool value) : MessagePart(value ? "true" : "false") {}
  /// In decimal; a char is printed as a character, std::int8_t and std::uint8_t as numbers.
  template <class Number>
  requires std::is_arithmetic_v<Number> MessagePart(Number number) {
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
  MessagePart(const T& value)
      : append_([](std::string& text, const MessagePart& part) {
          append_part(text, *static_cast<const T*>(part.value_));
        }),
        value_(&value) {}

  /// Appends the part as the user reads it.
  void append_to(std::string& text) const { append_(text, *this); }

 private:
  static void append_view(std::string& text, const MessagePart& part) {
    append_text(text, part.text_);
  }
  static void append_char(std::string& text, const MessagePart& part) {
    const char letter = static_cast<char>(part.signed_);
    append_text(text, {&letter, 1});
  }
  // Numbers print in the shortest form that reads back as the same number, whatever the locale.
  template <class Number>
  [[gnu::cold]] static void append_number(std::string& text, Number number) {
    char digits[32];
    append_text(text,
                {digits, static_cast<std::size_t>(
                             std::to_chars(digits, digits + sizeof digits, number).ptr - digits)});
  }
  static void append_float(std::string& text, const MessagePart& part) {
    append_number(text, part.float_);
  }
  static void append_double(std::string& text, const MessagePart& part) {
    append_number(text, part.double_);
  }
  // Does not use std::to_chars: for integers it is a template that takes as long to compile as ten
  // of these.
  [[gnu::cold]] static void append_digits(std::string& text, unsigned long long number) {
    char digits[20];
    char* first = digits + sizeof digits;
    do *--first = static_cast<char>('0' + number % 10);
    while (number /= 10);
    append_text(text, {first, static_cast<std::size_t>(digits + sizeof digits - first)});
  }
  [[gnu::cold]] static void append_signed(std::string& text, const MessagePart& part) {
    const auto bits = static_cast<unsigned long long>(part.signed_);
    if (part.signed_ < 0) append_text(text, "-");
    append_digits(text, part.signed_ < 0 ? 0 - bits : bits);
  }
  static void append_unsigned(std::string& text, const MessagePart& part) {
    append_digits(text, part.unsigned_);
  }

  void (*append_)(std::string& text, const MessagePart& part);
  // append_ determines which member is set.
  union {
    std::string_view text_;
    float float_;
    double double_;
    long long signed_;
    unsigned long long unsigned_;
    const void* value_;
  };
};

/// The former name of MessagePart.
using Part [[deprecated("use MessagePart; until 0.4")]] = MessagePart;

/// Joins the parts into one text, for callers that have a list of them.
[[gnu::cold]] inline std::string join_parts(std::initializer_list<MessagePart> parts) {
  std::string text;
  for (const MessagePart& part : parts) part.append_to(text);
  return text;
}

/// Joins the parts into one text:
/// join("left is ", shape, " but k is ", 3) is "left is [2, 3] but k is 3".
template <class... Parts>
std::string join(const Parts&... parts) {
  return join_parts({MessagePart(parts)...});
}

/// An error with a message for people, joined from its parts. Throw it from any member of an
/// operator, and from bodies of parallel_for; the SDK catches it at the boundary, and the host adds
/// node, operator and shapes. Other exceptions are caught, too: the user sees what() of a
/// std::exception, and "out of memory" for std::bad_alloc. After an error in forward or backward,
/// outputs and states are undefined.
struct Error : std::runtime_error {
  /// Error("k is ", k, " but must be even") joins its parts; Error(ErrorKind::type, "...", ...)
  /// also sets the kind.
  explicit Error(const std::string& reason, ErrorKind kind = ErrorKind::failed)
      : std::runtime_error(reason), kind(kind) {}
  explicit Error(const char* reason, ErrorKind kind = ErrorKind::failed)
      : Error(join(reason), kind) {}
  /// "axis is 3", of kind failed.
  template <class... Parts>
  explicit Error(const MessagePart& reason, const Parts&... more) : Error(join(reason, more...)) {}
  template <class... Parts>
  explicit Error(ErrorKind kind, const Parts&... reason) : Error(join(reason...), kind) {}

  ErrorKind kind;  ///< passed to the host with what()
};

/// Throws an Error of these parts, as the SDK does itself. It costs its caller less code than
/// `throw`.
[[noreturn, gnu::cold]] inline void fail(ErrorKind kind,
                                         std::initializer_list<MessagePart> reason) {
  throw Error(join_parts(reason), kind);
}

}  // namespace tenon
#pragma GCC visibility pop

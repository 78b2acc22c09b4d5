// How an author reports failure, and how reasons are put together from texts, numbers and shapes.
#pragma once
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "abi.h"

namespace tenon {

/// What went wrong, coarsely: the host picks the words around the reason, and the exit code, by it.
enum class ErrorKind : std::int32_t {
  failed = TENON_ERROR_FAILED,        ///< the author's own reason
  parameter = TENON_ERROR_PARAMETER,  ///< a parameter is missing, unknown or out of range
  type = TENON_ERROR_TYPE,            ///< a shape, dtype or storage does not fit
  memory = TENON_ERROR_MEMORY,
  unknown = TENON_ERROR_UNKNOWN  ///< something was thrown that is not a std::exception
};

/// Appends one part of a reason. Types of ours (Shape, DType ...) add an overload beside themselves.
inline void append_part(std::string& text, std::string_view part) {
  text += part;
}

/// Numbers print in the shortest form that reads back as the same number, whatever the locale; bool as true or false.
template <class Number>
requires std::is_arithmetic_v<Number>
void append_part(std::string& text, Number number) {
  if constexpr (std::is_same_v<Number, bool>) {
    text += number ? "true" : "false";
  } else if constexpr (std::is_same_v<Number, char>) {
    text += number;
  } else {
    char digits[64];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }
}

/// The parts as one text: join("left is ", shape, " but k is ", 3).
template <class... Parts>
std::string join(const Parts&... parts) {
  std::string text;
  (append_part(text, parts), ...);
  return text;
}

/// A failure with a reason for people, joined from its parts. Throw it from any member of an operator; the SDK catches it at the boundary
/// and the host adds node, operator, plugin and shapes. Anything else that is thrown is caught and reported too.
struct Error : std::runtime_error {
  template <class... Parts>
  explicit Error(ErrorKind kind, const Parts&... reason) : std::runtime_error(join(reason...)), kind(kind) {}
  explicit Error(const std::string& reason) : std::runtime_error(reason) {}
  template <class... Parts>
  explicit Error(std::string_view reason, const Parts&... more) : std::runtime_error(join(reason, more...)) {}

  ErrorKind kind = ErrorKind::failed;
};

}  // namespace tenon

// Receives the error message of a plugin's function.
#pragma once
#include <tenon/abi.h>

#include <cstring>
#include <string>

#include "io/utf8.hpp"

namespace tenon {

/// The buffer into which functions of the ABI write their message.
struct ErrorBuffer {
  ErrorBuffer() {
    error.size = sizeof error;
    error.text = text;
    error.capacity = sizeof text;
  }
  ErrorBuffer(const ErrorBuffer&) = delete;
  ErrorBuffer& operator=(const ErrorBuffer&) = delete;
  /// Returns the message in printable form, or a default text if it is empty. A missing terminating
  /// zero is harmless. Always a single line, because messages reach terminals and logs of
  /// applications unfiltered.
  std::string reason() const {
    const auto length = strnlen(text, sizeof text);
    return length == 0 ? "it failed without giving a reason" : printable({text, length});
  }

  tenon_error error{};
  char text[2048] = "";
};

}  // namespace tenon

// The reason of a plugin's function that failed.
#pragma once
#include <tenon/abi.h>

#include <string>

namespace tenon {

/// The buffer that the boundary's functions write their reason into.
struct ErrorBuffer {
  ErrorBuffer() {
    error.size = sizeof error;
    error.text = text;
    error.capacity = sizeof text;
  }
  ErrorBuffer(const ErrorBuffer&) = delete;
  ErrorBuffer& operator=(const ErrorBuffer&) = delete;
  /// What was written, printable(), or words for nothing; a callee that forgot the final zero does no harm.
  std::string reason() const;

  tenon_error error{};
  char text[2048] = "";
};

}  // namespace tenon

// Errors on their way through the C boundary, in both directions.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string_view>

#include "abi.h"
#include "error.hpp"
#include "version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Room for the reason of a failing host function, and the way to throw it here.
class HostError {
 public:
  tenon_error* raw() { return &raw_; }
  [[noreturn]] void raise() const {
    throw Error(static_cast<ErrorKind>(raw_.kind), *text_ ? std::string_view(text_) : std::string_view("the host gave no reason"));
  }

 private:
  char text_[1024] = {};
  tenon_error raw_ = {sizeof(tenon_error), TENON_ERROR_FAILED, 0, text_, sizeof text_};
};

/// Writes a reason into the caller's buffer, cut between two characters of UTF-8 where it does not fit. error may be null.
[[gnu::cold]] inline void write_error(tenon_error* error, ErrorKind kind, std::string_view reason) noexcept {
  if (!error || !error->text || error->capacity == 0) return;
  std::size_t size = reason.size() < error->capacity ? reason.size() : static_cast<std::size_t>(error->capacity - 1);
  if (size < reason.size())
    while (size > 0 && (static_cast<unsigned char>(reason[size]) & 0xC0) == 0x80) --size;
  reason.copy(error->text, size);
  error->text[size] = '\0';
  error->kind = static_cast<std::int32_t>(kind);
}

/// Call inside a catch block: writes what was thrown.
[[gnu::cold]] inline void write_current_exception(tenon_error* error) noexcept {
  try {
    throw;
  } catch (const Error& failure) {
    write_error(error, failure.kind, failure.what());
  } catch (const std::bad_alloc&) {
    write_error(error, ErrorKind::memory, "out of memory");
  } catch (const std::exception& failure) {
    write_error(error, ErrorKind::failed, failure.what());
  } catch (...) {
    write_error(error, ErrorKind::unknown, "an exception was thrown that is not a std::exception");
  }
}

/// Runs a body that may throw; the value to return through the boundary: 0, or 1 with the reason in *error.
template <class Body>
std::int32_t guarded(tenon_error* error, Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (...) {
    write_current_exception(error);
    return 1;
  }
}

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

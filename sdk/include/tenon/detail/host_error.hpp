// Errors across the C boundary, in both directions. No exception may cross it, because plugin and
// host may come from different compilers. Each side turns an exception into a kind and a text in
// the caller's buffer and returns 1; the caller throws it again:
//
//     std::int32_t infer(const void* object, tenon_infer* io) noexcept {
//       // whatever is thrown in here is written into io->error
//       return guarded(io->error, [&] { ... });
//     }
//
//     HostError error;
//     if (host.allocate_sparse(&call, 0, 10, &out, error.raw())) error.raise();
//
// For the SDK and for applications that call tables themselves; operators throw tenon::Error.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <string_view>

#include "../abi.h"
#include "../error.hpp"
#include "../version.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// A buffer for the reason of a failed host function, up to 1023 bytes, and a function to throw it.
/// Not thread-safe; not movable.
class HostError {
 public:
  tenon_error* raw() { return &raw_; }  ///< for the host function
  /// Throws Error with the host's kind and text.
  [[noreturn]] void raise() const {
    throw Error(static_cast<ErrorKind>(raw_.kind),
                *text_ ? std::string_view(text_) : std::string_view("the host gave no reason"));
  }

 private:
  char text_[1024] = {};  // raw_ points at it
  // `failed` unless the host sets another kind
  tenon_error raw_ = {sizeof(tenon_error), TENON_ERROR_FAILED, 0, text_, sizeof text_};
};

/// Writes a reason into the caller's buffer, for code without an exception. A reason that is too
/// long is truncated between two UTF-8 characters. error may be null.
[[gnu::cold]] inline void write_error(tenon_error* error, ErrorKind kind,
                                      std::string_view reason) noexcept {
  if (!error || !error->text || error->capacity == 0) return;
  std::size_t size = reason.size() < error->capacity
                         ? reason.size()
                         : static_cast<std::size_t>(error->capacity - 1);
  if (size < reason.size())
    // A byte 10xxxxxx continues a character: go back to the first byte.
    while (size > 0 && (static_cast<unsigned char>(reason[size]) & 0xC0) == 0x80) --size;
  reason.copy(error->text, size);
  error->text[size] = '\0';
  error->kind = static_cast<std::int32_t>(kind);
}

/// Returns the exception's text; handles a null what().
inline std::string_view text_of(const std::exception& failure) noexcept {
  const char* text = failure.what();
  return text != nullptr ? std::string_view(text)
                         : "an exception was thrown whose what() returns null";
}

/// Writes the current exception; call it inside a catch block. Error keeps its kind, std::bad_alloc
/// becomes `memory`, other std::exceptions `failed`, and anything else `unknown`.
[[gnu::cold]] inline void write_current_exception(tenon_error* error) noexcept {
  try {
    throw;
  } catch (const Error& failure) {
    write_error(error, failure.kind, text_of(failure));
  } catch (const std::bad_alloc&) {
    write_error(error, ErrorKind::memory, "out of memory");
  } catch (const std::exception& failure) {
    write_error(error, ErrorKind::failed, text_of(failure));
  } catch (...) {
    write_error(error, ErrorKind::unknown, "an exception was thrown that is not a std::exception");
  }
}

/// Runs a body that may throw and returns the boundary's result: 0, or 1 with the reason in *error.
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

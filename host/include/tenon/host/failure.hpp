// The host's exception: one sentence (what, where, found, needed), a hint (the next step) and a
// kind.
#pragma once
#include <string>
#include <tenon/error.hpp>
#include <tenon/host/api.hpp>

namespace tenon {

/// The kinds are also the program's exit codes.
enum class TENON_API FailureKind : int {
  failed = 1,  ///< the work failed: a kernel, a shape, memory
  usage = 2,   ///< wrong use: unknown names, invalid parameters
  plugin = 3,  ///< a plugin is missing, broken or rejected
  file = 4,    ///< a file is missing, broken or rejected
};

/// Every error of the host, except for the SDK's own types, which throw plain Errors: Shape{-5}
/// throws one before any function of the host is called. `catch (const Error&)` catches both.
/// `what()` is one sentence without a full stop; `hint()` may be empty.
class Failure : public Error {
 public:
  Failure(FailureKind kind, const std::string& message, std::string hint = {})
      : Error(message), kind_(kind), hint_(std::move(hint)) {}
  FailureKind kind() const { return kind_; }
  const std::string& hint() const { return hint_; }

 private:
  FailureKind kind_;
  std::string hint_;
};

}  // namespace tenon

// Reporting of failures.
#pragma once
#include <string>
#include <tenon/host/failure.hpp>

namespace tenon::cli {

/// Returns the failure's hint. If it is a library hint that a command-line option satisfies, the
/// option is appended.
std::string hint_of(const Failure& failure);

/// Prints `error: ...` and, if there is a hint, `hint: ...` to stderr; with `json`, one JSON
/// object.
void report(const Failure& failure, bool json);

/// Whether stderr is a terminal. Progress and colours are printed only then.
bool interactive();

}  // namespace tenon::cli

// How the program tells of a failure.
#pragma once
#include <string>
#include <tenon/host/failure.hpp>

namespace tenon::cli {

/// With the option that does what it says, where the library's hint is for all who use the library.
std::string hint_of(const Failure& failure);

/// `error: ...` and, where there is one, `hint: ...` on stderr; one JSON object where `json` is asked for.
void report(const Failure& failure, bool json);

/// What follows is for people only: nothing where stderr is no terminal.
bool interactive();

}  // namespace tenon::cli

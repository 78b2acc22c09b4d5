// How the program tells of a failure.
#pragma once
#include <tenon/host/failure.hpp>

namespace tenon::cli {

/// `error: ...` and, where there is one, `hint: ...` on stderr; one JSON object where `json` is asked for.
void report(const Failure& failure, bool json);

/// What follows is for people only: nothing where stderr is no terminal.
bool interactive();

}  // namespace tenon::cli

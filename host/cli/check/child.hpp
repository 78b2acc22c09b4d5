// A check in a process of its own.
#pragma once
#include "cli/check/check.hpp"

namespace tenon::cli {

/// Runs the check in a child and waits for it, at most `timeout_ms`. Call while this process has no threads.
Outcome run_in_child(const Check& check, const Subject& subject, int timeout_ms);

}  // namespace tenon::cli

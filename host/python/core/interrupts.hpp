// Ctrl-C while the host runs: the run stops before its next node, and Python raises
// KeyboardInterrupt.
#pragma once
#include <stop_token>

#include "python/core/interpreter.hpp"

namespace tenon::python {

/// The token that Ctrl-C stops during the run. Needs the GIL.
std::stop_token interrupt_token();
/// Raises the exception of a signal handler that ran meanwhile, if any. Call it after a failed run.
/// Needs the GIL.
void raise_interrupt();

}  // namespace tenon::python

// Ctrl-C while the host runs: the run ends before its next node, and Python raises KeyboardInterrupt.
#pragma once
#include <stop_token>

#include "python/core/interpreter.hpp"

namespace tenon::python {

/// The token that Ctrl-C stops, for as long as the run lasts. With the GIL.
std::stop_token interrupt_token();
/// Raises what signals' handlers raise, if one came meanwhile: call it where a run failed. With the GIL.
void raise_interrupt();

}  // namespace tenon::python

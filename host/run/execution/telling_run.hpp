// A run that tells which of its outputs are complete, while it goes on.
#pragma once
#include <tenon/host/session.hpp>

#include "run/execution/execution.hpp"

namespace tenon {

/// Calls the steps one after the other, and request.finished() with each of `outputs` that lies in its destination, behind the last step
/// that writes it. Of an execution without GPUs. Throws a step's Failure, or that request.stop was requested.
void run_telling(Execution& execution, const Destinations& destinations, const NamedTensors& outputs, const RunOptions& request);

}  // namespace tenon

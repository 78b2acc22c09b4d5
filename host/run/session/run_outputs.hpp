// The memory of a run's outputs.
#pragma once
#include <tenon/host/session.hpp>

#include "run/session/plan_store.hpp"

namespace tenon {

/// Throws Failure (usage) for a destination that does not fit its output.
void check_destinations(const Plan& plan, const Destinations& destinations);
/// Creates the outputs, which belong to the caller, and points the execution at them. Those with a
/// destination are written there, if a kernel can. Sparse outputs are not among them.
NamedTensors bind_outputs(const Planned& planned, const NamedTensors& inputs,
                          const Destinations& destinations, bool keep_on_device);
/// Adds the sparse outputs of a finished run.
void take_sparse_outputs(Execution& execution, bool keep_on_device, NamedTensors& outputs);
/// Delivers outputs that no kernel could write to their destination: a second name of a value, an
/// input that is an output, a sum that kernels cannot accumulate.
void deliver(const Destinations& destinations, NamedTensors& outputs);

}  // namespace tenon

// Where a session's variables, states and constants lie.
#pragma once
#include "plan/kernels.hpp"

namespace tenon {

/// Whether a session on that device runs anything elsewhere than on the CPU.
bool uses_gpus(const GraphModel& model, const Device& device);

/// Moves what has elements to the device of the node that reads it first; states to their node's. In training variables lie on the
/// session's own device, whoever reads them: so sessions of several graphs can share them.
void move_home(GraphModel& model, const Kernels& kernels, bool training);

}  // namespace tenon

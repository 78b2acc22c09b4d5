// Where a session's variables, states and constants lie.
#pragma once
#include "plan/kernels.hpp"
#include "plan/tensor_table.hpp"

namespace tenon {

/// Moves what has elements to the device of the node that reads it first; states to their node's. In training variables lie on the
/// session's own device, whoever reads them: so sessions of several graphs can share them.
void place_tensors(const GraphModel& model, const Kernels& kernels, bool training, TensorTable& tensors);

}  // namespace tenon

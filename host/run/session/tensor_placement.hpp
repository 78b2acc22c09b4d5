// Places a session's variables, states and constants.
#pragma once
#include "plan/kernels.hpp"
#include "plan/tensor_table.hpp"

namespace tenon {

/// Moves tensors to the device of the node that reads them first; states to their node's device. In
/// training, variables are on the session's device, whichever node reads them, so that sessions of
/// several graphs can share them.
void place_tensors(const GraphModel& model, const Kernels& kernels, bool training,
                   TensorTable& tensors);

/// Moves large tensors that isolated nodes read to memory that workers can read directly. Changes
/// only the session's table; the graph's tensors do not move. In training, variables may be shared
/// with other sessions, so only those move that this session updates, because it has cloned them.
void share_with_workers(const GraphModel& model, const Kernels& kernels, bool training,
                        TensorTable& tensors);

}  // namespace tenon

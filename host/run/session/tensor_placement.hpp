// Where a session's variables, states and constants lie.
#pragma once
#include "plan/kernels.hpp"
#include "plan/tensor_table.hpp"

namespace tenon {

/// Moves what has elements to the device of the node that reads it first; states to their node's. In training variables lie on the
/// session's own device, whoever reads them: so sessions of several graphs can share them.
void place_tensors(const GraphModel& model, const Kernels& kernels, bool training, TensorTable& tensors);

/// Moves large tensors that isolated nodes read to memory that workers read as it is. The session's own table: the graph's tensors stay
/// where they are. In training variables may be shared with other sessions, so only those move that this session updates: it cloned them.
void share_with_workers(const GraphModel& model, const Kernels& kernels, bool training, TensorTable& tensors);

}  // namespace tenon

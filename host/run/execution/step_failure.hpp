// Failure messages of steps.
#pragma once
#include <string>
#include <tenon/host/failure.hpp>

#include "plan/plan.hpp"

namespace tenon {

/// `[add] node 'sum': REASON (with inputs ...)`
Failure failure_at(const Plan& plan, std::size_t step, const std::string& reason,
                   const std::string& hint = {});

/// Like failure_at(), for a node that a step runs.
Failure failure_at_node(const Plan& plan, NodeId id, const std::string& reason,
                        const std::string& hint = {});

/// `nodes 'a' to 'b'`: kernels before that step that were submitted to the device and may not have
/// finished; may be empty.
std::string nodes_before(const Plan& plan, std::size_t step, const Device& device);

/// Whether the step is a kernel on that device.
bool runs_kernel(const Plan& plan, std::size_t step, const Device& device);

}  // namespace tenon

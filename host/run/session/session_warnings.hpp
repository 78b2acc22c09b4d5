// Warnings about the plans and the runs of sessions.
#pragma once
#include <span>
#include <string>

#include "run/execution/execution.hpp"
#include "run/session/session_graph.hpp"
#include "run/warnings.hpp"

namespace tenon {

/// Warns about sparse tensors that the plan converts to dense. Throws Failure if the host is strict
/// about storage, and for a node of an optimized graph whose original nodes may have sparse
/// kernels.
void warn_of_conversions(Warnings& warnings, const Plan& plan, bool optimized);
/// Warns about nodes that fall back to the CPU for lack of a kernel, with the copies they cause.
void warn_of_fallbacks(Warnings& warnings, const SessionGraph& graph, const Plan& plan);
/// Warns about variables that were initialized randomly, although the session does not train.
void warn_of_random_values(Warnings& warnings, const GraphModel& model,
                           std::span<const ValueId> variables, std::uint64_t seed);
/// Warns about kernels that could not be captured although they declare it.
void warn_of_capture(Warnings& warnings, const Execution& execution);

}  // namespace tenon

// The contents of a plan's arenas over time.
#pragma once
#include <tenon/host/plan_info.hpp>
#include <vector>

#include "plan/memory/memory_plan.hpp"

namespace tenon {

/// Returns the uses by first step, then by offset. Inputs, variables and outputs of the graph are
/// not in arenas; right sides of fused sums are not listed separately.
std::vector<MemoryUse> memory_uses(const GraphModel& model, const MemoryPlan& plan);

/// Throws Failure (usage) if an entry refers to an arena that the plan does not have: applications
/// may create or edit a PlanInfo.
void check_arenas(const PlanInfo& plan);

}  // namespace tenon

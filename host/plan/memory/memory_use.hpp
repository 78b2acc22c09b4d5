// What lies in a plan's arenas, and from when to when.
#pragma once
#include <tenon/host/plan_info.hpp>
#include <vector>

#include "plan/memory/memory_plan.hpp"

namespace tenon {

/// By first step, then by offset. Inputs, variables and outputs of the graph lie elsewhere and are not among them; neither is what is added
/// to a sum where that lies.
std::vector<MemoryUse> memory_uses(const GraphModel& model, const MemoryPlan& plan);

/// Throws Failure (usage) if something lies in an arena that the plan does not have: applications may make or change a PlanInfo.
void check_arenas(const PlanInfo& plan);

}  // namespace tenon

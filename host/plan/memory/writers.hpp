// Which values worker processes write where they lie.
#pragma once
#include "plan/memory/memory_plan.hpp"

namespace tenon {

/// The isolated plugin whose worker may write to each piece of memory, by the value that stands for it; null: none may, and what a worker
/// makes there is copied when its call is over. Whoever may write could still do so after its call, while others read. So that is for large
/// floating values of one plugin alone, and nobody in this process reads them but elementwise operators, which look at each number once: a
/// kernel that reads twice, to count before it stores or to sort, could be led out of its own memory.
std::vector<const IsolatedPlugin*> find_writers(const Lowered& graph, const MemoryPlan& plan);

}  // namespace tenon

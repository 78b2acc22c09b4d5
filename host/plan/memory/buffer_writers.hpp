// Which values worker processes write where they lie.
#pragma once
#include "plan/memory/memory_plan.hpp"

namespace tenon {

/// The isolated plugin whose worker may write to each buffer; null: none may, and what a worker makes there is copied when its call is
/// over. Whoever is given a buffer could still write to it after its call, while others read. So it holds large floating values of this
/// plugin alone, and nobody in this process reads them but elementwise operators, which look at each number once: a kernel that reads
/// twice, to count before it stores or to sort, could be led out of its own memory.
std::vector<const IsolatedPlugin*> buffer_writers(const Lowered& graph, const MemoryPlan& plan);

}  // namespace tenon

// Selects the values that a training step recomputes, so that it fits a memory budget.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tenon/host/graph.hpp>
#include <vector>

#include "graph/gradient/gradient.hpp"
#include "graph/inference/type.hpp"

namespace tenon {

/// Returns the nodes to recompute so that the gradient's plan, for inputs of these types, needs at
/// most `budget` bytes: the smallest set found, cheap nodes first. Throws Failure (failed) with the
/// smallest memory that can be reached.
std::vector<NodeId> choose_recompute(const Graph& graph, const GradientRequest& request,
                                     std::int64_t budget,
                                     const std::map<ValueId, tenon_type>& inputs);

}  // namespace tenon

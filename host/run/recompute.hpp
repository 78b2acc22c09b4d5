// Which values a training step does not keep, so that it fits into so much memory.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tenon/host/graph.hpp>
#include <vector>

#include "graph/gradient.hpp"
#include "graph/type.hpp"

namespace tenon {

/// The nodes to compute again so that the gradient's plan for inputs of these types needs at most `budget` bytes: the fewest that were
/// found, cheap ones before others. Throws Failure (failed) with the least that can be had.
std::vector<NodeId> choose_recompute(const Graph& graph, const GradientRequest& request, std::int64_t budget,
                                     const std::map<ValueId, tenon_type>& inputs);

}  // namespace tenon

// Extracts nodes of a graph into a graph of their own.
#pragma once
#include <string>
#include <tenon/host/tensor.hpp>
#include <utility>
#include <vector>

#include "graph/snapshot.hpp"

namespace tenon {

/// Copies `nodes` with the inputs, variables, states and constants that they read. `nodes` must be
/// topologically sorted, with origins first. `outputs`: values of the original graph by name.
/// `tensors`: a session's tensors by value, which take precedence over those of the graph.
GraphSnapshot extract_subgraph(const GraphModel& model, const Binding& binding,
                               const std::vector<NodeId>& nodes,
                               const std::vector<std::pair<std::string, ValueId>>& outputs,
                               const std::vector<Tensor>& tensors);

/// Copies all nodes and drops values that nothing reads.
GraphSnapshot copy_graph(const GraphModel& model, const Binding& binding,
                         const std::vector<Tensor>& tensors);

}  // namespace tenon

// Some nodes of a graph, as a graph of their own.
#pragma once
#include <string>
#include <tenon/host/tensor.hpp>
#include <utility>
#include <vector>

#include "graph/snapshot.hpp"

namespace tenon {

/// With the inputs, variables, states and constants that they read. `nodes`: in an order in which each
/// comes after what it reads and after its origin. `outputs`: values of the graph by name. `tensors`: a session's, by value, instead of
/// those of the graph where it has one.
GraphSnapshot graph_part(const GraphModel& model, const Binding& binding, const std::vector<NodeId>& nodes,
                         const std::vector<std::pair<std::string, ValueId>>& outputs, const std::vector<Tensor>& tensors);

/// All nodes, without values that nobody reads.
GraphSnapshot whole_graph(const GraphModel& model, const Binding& binding, const std::vector<Tensor>& tensors);

}  // namespace tenon

// Execution order of a lowered graph, and the number of readers of each value.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "plan/lowering.hpp"

namespace tenon {

/// Returns the nodes that outputs need; in training, also those that updates of variables need;
/// and, if all outputs are requested, nodes that communicate and, in training, stateful nodes.
std::vector<NodeId> execution_order(const LoweredGraph& graph, bool training);

/// Counts for each value.
struct Readers {
  std::vector<std::uint32_t> all;           ///< reading steps, graph outputs and updates
  std::vector<std::uint32_t> output_names;  ///< graph outputs that are this value
};
Readers count_readers(const GraphModel& model, std::span<const NodeId> order, bool training);

}  // namespace tenon

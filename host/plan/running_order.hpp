// Which nodes of a lowered graph run, in which order, and how often values are read.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "plan/lowering.hpp"

namespace tenon {

/// Only what the outputs need runs; in training, what variables are updated with as well; and, where all outputs are wanted, nodes that
/// other processes wait for, and in training those that keep states.
std::vector<NodeId> running_order(const Lowered& graph, bool training);

/// Of each value.
struct Readers {
  std::vector<std::uint32_t> all;           ///< steps that read it, outputs of the graph, updates
  std::vector<std::uint32_t> output_names;  ///< how many outputs of the graph it is
};
Readers count_readers(const GraphModel& model, std::span<const NodeId> order, bool training);

}  // namespace tenon

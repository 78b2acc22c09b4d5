// Elementwise fusion: finds the groups of nodes to fuse.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "plan/execution_order.hpp"
#include "plan/lowering.hpp"
#include "plan/memory/fused_sums.hpp"

namespace tenon {

/// With fewer elements, all values of a group stay in the L2 cache anyway.
inline constexpr std::int64_t min_fused_elements = 131072;

struct FoundGroup {
  std::vector<NodeId>
      nodes;  ///< at least two, in execution order; the group runs at the position of the last
  /// sums of two values of the group: the right side is accumulated into the left one
  std::vector<FusedSum> sums;
  tenon_type whole{};  ///< common type of the outputs, except for the dtype
  GroupBlocks blocks;
};

/// Finds groups of nodes that read each other's values elementwise, whose kernels can be called for
/// blocks, and whose values are too large for the cache. Nodes that run between two of a group do
/// not need its values, and delaying the group to its last node keeps no more memory alive. Groups
/// are disjoint and sorted by their last nodes. Takes O(n).
std::vector<FoundGroup> find_groups(const LoweredGraph& graph, const Kernels& kernels,
                                    std::span<const tenon_type> types,
                                    std::span<const NodeId> order, const Readers& readers);

}  // namespace tenon

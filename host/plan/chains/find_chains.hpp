// Which nodes of a lowered graph become chains.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "plan/lowering.hpp"
#include "plan/memory/fused_sums.hpp"
#include "plan/running_order.hpp"

namespace tenon {

/// With fewer, all values of a chain stay in the second-level cache anyway.
inline constexpr std::int64_t fewest_chain_elements = 131072;

struct FoundChain {
  std::vector<NodeId> nodes;   ///< at least two, in the graph's order; the chain runs where the last one stands
  std::vector<FusedSum> sums;  ///< of two values of the chain: the right one is added where the left one lies
  tenon_type whole{};          ///< of all that the nodes compute, but for the dtype
  ChainBlocks blocks;
};

/// Nodes that read each other's values element by element and whose kernels may be called block by block, where there are so many elements
/// that their values leave the cache between steps. What lies between two of them in the order does not need what they compute, and waiting
/// for the last one keeps no more memory in use. By the last node; no node is in two. Takes O(n).
std::vector<FoundChain> find_chains(const Lowered& graph, const Kernels& kernels, std::span<const tenon_type> types,
                                    std::span<const NodeId> order, const Readers& readers);

}  // namespace tenon

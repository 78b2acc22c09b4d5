// Sums of two gradients that need no step of their own: the second one is added where the first one lies.
#pragma once
#include <span>
#include <vector>

#include "plan/lowering.hpp"

namespace tenon {

/// A sum whose right side is written by write mode add into the memory of its left side, which is then also the sum's.
struct FusedSum {
  NodeId node;  ///< of sum_gradients; it does not run
  ValueId left, right, sum;
};

/// Those of the order's sums where all is dense, nobody else reads the two sides, the right side's kernel accumulates and runs after the
/// left side is there. `readers` counts for each value the steps that read it and the outputs that give it out.
std::vector<FusedSum> fuse_sums(const Lowered& graph, std::span<const tenon_type> types, std::span<const NodeId> order,
                                std::span<const std::uint32_t> readers);

}  // namespace tenon

// Folds sums of two gradients: the second one is accumulated into the memory of the first, without
// a step of its own.
#pragma once
#include <span>
#include <vector>

#include "plan/lowering.hpp"

namespace tenon {

/// A sum whose right side is written with TENON_WRITE_ADD into the memory of its left side, which
/// then holds the sum.
struct FusedSum {
  NodeId node;  ///< the sum_gradients node, which does not run
  ValueId left, right, sum;
};

/// Returns the sums in `order` whose values are dense, whose sides have no other readers, and whose
/// right side's kernel accumulates and runs after the left side is available. `readers`: for each
/// value, the number of reading steps and graph outputs.
std::vector<FusedSum> fuse_sums(const LoweredGraph& graph, std::span<const tenon_type> types,
                                std::span<const NodeId> order,
                                std::span<const std::uint32_t> readers);

}  // namespace tenon

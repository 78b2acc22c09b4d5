// The values that backward reads: those of the forward pass, or recomputed ones.
#pragma once
#include <unordered_map>
#include <vector>

#include "graph/builder.hpp"

namespace tenon {

/// Activation checkpointing (Chen et al., 2016, "Training deep nets with sublinear memory cost"):
/// recomputes what is cheap instead of saving it.
class RecomputedValues {
 public:
  /// Throws Failure (usage) for a node that cannot be recomputed.
  RecomputedValues(GraphBuilder& builder, const std::vector<NodeId>& recompute);

  /// Returns the value itself, or its recomputation, which is added on first use.
  ValueId of(ValueId value);

 private:
  bool is_recomputed(ValueId value) const;
  ValueId known(ValueId value) const;

  GraphBuilder& builder_;
  std::vector<bool> recompute_;                    // of each node
  std::unordered_map<NodeId, NodeId> recomputed_;  // forward node -> its recomputation
};

}  // namespace tenon

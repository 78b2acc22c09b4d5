// The values that backward reads: those of the forward pass, or computed again.
#pragma once
#include <unordered_map>
#include <vector>

#include "graph/builder.hpp"

namespace tenon {

/// Chen et al., 2016 ("Training deep nets with sublinear memory cost"): what is cheap to compute again need not be kept.
class RecomputedValues {
 public:
  /// Throws Failure (usage) for a node that cannot be computed again.
  RecomputedValues(GraphBuilder& builder, const std::vector<NodeId>& recompute);

  /// The value itself, or what a second computation of its node gives, added where it is first asked for.
  ValueId of(ValueId value);

 private:
  bool is_recomputed(ValueId value) const;
  ValueId known(ValueId value) const;

  GraphBuilder& builder_;
  std::vector<bool> recompute_;                    // each node
  std::unordered_map<NodeId, NodeId> recomputed_;  // those that were added
};

}  // namespace tenon

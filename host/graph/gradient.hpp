// The backward graph of a loss.
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/builder.hpp"

namespace tenon {

/// Part of a graph that is differentiated for itself: nodes that follow each other, and what else is read in their place.
struct GradientPart {
  NodeId first = 0, end = none;
  std::vector<std::pair<ValueId, ValueId>> seeds;  ///< values and their gradients
  std::unordered_map<ValueId, ValueId> kept;       ///< what backward reads instead of these values
};

/// What is asked of a gradient.
struct GradientRequest {
  ValueId loss = none;
  ValueId seed = none;  ///< the loss's own gradient; none: ones
  std::vector<ValueId> wrt;
  std::vector<NodeId> recompute;       ///< nodes whose outputs backward computes again instead of keeping them
  const GradientPart* part = nullptr;  ///< null: the whole graph; else seeds, beside the first, are the part's
};

/// Adds nodes that compute the gradient of the loss's sum with respect to each of `wrt`; none where it is zero. Kernels' backward and
/// gradients given as graphs mix; several gradients of one value are summed as soon as they are there; nothing that is zero or that nobody
/// asked for is computed. Throws Failure and leaves the graph as it was.
std::vector<ValueId> add_gradient(GraphBuilder& builder, const GradientRequest& request);
/// The same of a part of the graph.
std::vector<ValueId> add_gradient(GraphBuilder& builder, const GradientPart& part, const std::vector<ValueId>& wrt);

}  // namespace tenon

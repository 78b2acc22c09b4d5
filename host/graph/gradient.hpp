// The backward graph of a loss.
#pragma once
#include <vector>

#include "graph/builder.hpp"

namespace tenon {

/// What is asked of a gradient.
struct GradientRequest {
  ValueId loss = none;
  ValueId seed = none;  ///< the loss's own gradient; none: ones
  std::vector<ValueId> wrt;
  std::vector<NodeId> recompute;  ///< nodes whose outputs backward computes again instead of keeping them
};

/// Adds nodes that compute the gradient of the loss's sum with respect to each of `wrt`; none where it is zero. Kernels' backward and
/// gradients given as graphs mix; several gradients of one value are summed as soon as they are there; nothing that is zero or that nobody
/// asked for is computed. Throws Failure and leaves the graph as it was.
std::vector<ValueId> add_gradient(GraphBuilder& builder, const GradientRequest& request);

}  // namespace tenon

// Gradients: adds the backward graph of a loss.
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/builder.hpp"

namespace tenon {

/// A subgraph of consecutive nodes that is differentiated separately.
struct GradientSubgraph {
  NodeId first = 0, end = none;
  std::vector<std::pair<ValueId, ValueId>> seeds;  ///< values and their gradients
  std::unordered_map<ValueId, ValueId>
      substitutes;  ///< values that backward reads in place of these
};

/// A request for gradients.
struct GradientRequest {
  ValueId loss = none;
  ValueId seed = none;  ///< gradient of the loss itself; none: ones
  std::vector<ValueId> wrt;
  std::vector<NodeId>
      recompute;  ///< nodes whose outputs backward recomputes instead of reading saved ones
  const GradientSubgraph* subgraph =
      nullptr;  ///< null: the whole graph; otherwise it provides the other seeds
};

/// Adds nodes that compute the gradient of the sum of the loss with respect to each of `wrt`.
/// Returns one value for each, `none` if it is zero. Kernels' backward functions and gradients
/// defined as graphs can be mixed; several gradients of a value are summed as soon as they are
/// available; gradients that are zero or not needed are not computed. Throws Failure and leaves the
/// graph unchanged.
std::vector<ValueId> add_gradient(GraphBuilder& builder, const GradientRequest& request);
/// Adds the gradients of a subgraph.
std::vector<ValueId> add_gradient(GraphBuilder& builder, const GradientSubgraph& subgraph,
                                  const std::vector<ValueId>& wrt);

}  // namespace tenon

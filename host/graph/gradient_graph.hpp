// What an operator's gradient() is given: the backward graph under construction.
#pragma once
#include <functional>
#include <vector>

#include "graph/builder.hpp"

namespace tenon {

/// The values around one forward node, asked for when its operator wants them, and what it says of its inputs' gradients.
struct GradientAround {
  std::function<ValueId(std::uint32_t)> input, output, output_grad;
  std::vector<ValueId> input_grads;  ///< out: none where the operator said nothing
};

/// Runs the operator's gradient(). Throws Failure with its reason; never trusts what it asks for.
void run_gradient(GraphBuilder& builder, NodeId node, GradientAround& around);

}  // namespace tenon

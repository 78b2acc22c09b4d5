// Composed operators: operators defined as graphs of others.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "graph/builder.hpp"
#include "graph/inference/operator_inference.hpp"

namespace tenon {

/// A node with a composed operator.
struct ComposedNode {
  const LoadedOperator& op;
  const void* object;  ///< of op.table
  std::string name;    ///< prefix of the added nodes: NAME/OPERATOR
  std::string device;
  std::vector<ValueId> inputs;  ///< none: not connected
  std::uint32_t outputs;
};

/// Whether the operator has a forward(Compose&).
bool is_composed(const LoadedOperator& op);

/// Adds the nodes of one composed node, one level deep; returns the value of each output. Throws
/// Failure and may then leave some nodes in the graph.
std::vector<ValueId> compose(GraphBuilder& builder, const ComposedNode& node);

/// Infers inputs and outputs from the composed nodes, with all outputs unknown at first. Throws
/// Failure.
void infer_composed(const LoadedOperator& op, const void* object, CallTypes& types);

/// Returns which inputs have a gradient if only these outputs have one. Throws Failure if a node
/// inside cannot be differentiated.
std::vector<bool> inputs_with_gradient(const LoadedOperator& op, const void* object,
                                       const CallTypes& types,
                                       const std::vector<bool>& output_grads);

}  // namespace tenon

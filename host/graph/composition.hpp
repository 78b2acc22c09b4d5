// Operators that are graphs of others: their nodes, and what follows from them.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "graph/builder.hpp"
#include "graph/operator_inference.hpp"

namespace tenon {

/// A node whose operator composes it of others.
struct ComposedNode {
  const LoadedOperator& op;
  const void* object;  ///< of op.table
  std::string name;    ///< what is added is called NAME/OPERATOR
  std::string device;
  std::vector<ValueId> inputs;  ///< none: not connected
  std::uint32_t outputs;
};

/// Whether the operator has a forward(Compose&).
bool is_composed(const LoadedOperator& op);

/// Adds the node's nodes, one level of them; gives the value of each output. Throws Failure and may leave some of them.
std::vector<ValueId> compose(GraphBuilder& builder, const ComposedNode& node);

/// What the nodes inside infer of inputs and outputs, with nothing known of outputs. Throws Failure.
void infer_composed(const LoadedOperator& op, const void* object, CallTypes& types);

/// Of which inputs there is a gradient, if only these outputs have one. Throws Failure where a node inside has none.
std::vector<bool> reached_by_gradient(const LoadedOperator& op, const void* object, const CallTypes& types,
                                      const std::vector<bool>& output_grads);

}  // namespace tenon

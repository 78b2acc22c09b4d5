// The second derivative: backward of a node that is itself backward of another one.
#pragma once
#include <string>
#include <tenon/dtype.hpp>
#include <utility>
#include <vector>

#include "graph/builder.hpp"

namespace tenon {

/// Whether a value of this type has a gradient, as far as its dtype is known. Those of complex values are dL/d(re) + i dL/d(im).
inline bool may_have_gradient(const tenon_type& type) {
  return type.dtype == TENON_DTYPE_UNKNOWN || (floating + any_complex).has(static_cast<DType>(type.dtype));
}

/// One backward node whose outputs have gradients. Threads: one at a time; it adds nodes to the graph.
class BackwardAgain {
 public:
  /// gradients: of the node's outputs; none: zero.
  BackwardAgain(GraphBuilder& builder, NodeId backward, std::vector<ValueId> gradients);

  /// Whether the forward operator is a sum of terms that are linear in one input or in each of two. Then its forward and backward kernels
  /// are all that it takes.
  bool is_linear() const;
  /// The gradients of what backward reads: the output's gradient and the forward node's inputs.
  std::vector<std::pair<ValueId, ValueId>> by_linearity() const;

  /// Why backward cannot be written as a graph, as a hint; empty if it can.
  std::string refusal() const;
  /// What backward computes, as nodes that can be differentiated: by the operator's gradient(), by the nodes that it is composed of, or
  /// with the derivatives of an elementwise class. None where it is zero or nobody asks. Throws Failure for random numbers in composed
  /// operators.
  std::vector<ValueId> as_graph() const;

 private:
  struct Factors {
    std::vector<ValueId> left, right;  // inputs of the two calls; empty: not needed
  };
  Factors factors() const;
  std::uint32_t beside_terms() const;
  ValueId input(std::uint32_t i) const;
  ValueId zeros(ValueId like) const;
  ValueId helper(std::string_view op, const std::vector<ValueId>& inputs, const Attributes& attributes = {}) const;
  std::string free_name() const;
  std::vector<ValueId> with_derivatives() const;
  std::vector<ValueId> by_gradient() const;
  std::vector<ValueId> by_composition() const;
  const OperatorInfo& info() const;

  GraphBuilder& builder_;
  const GraphModel& model_;
  NodeRecord node_, origin_;
  std::vector<ValueId> gradients_;
  std::vector<std::uint32_t> partner_;  // of each input: the other one of its product, itself if it is linear alone, none
};

}  // namespace tenon

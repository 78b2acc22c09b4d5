// Second derivatives: the gradient of backward nodes.
#pragma once
#include <string>
#include <tenon/dtype.hpp>
#include <utility>
#include <vector>

#include "graph/builder.hpp"

namespace tenon {

/// Whether a value of this type has a gradient, as far as its dtype is known. The gradient of a
/// complex value is dL/d(re) + i dL/d(im).
inline bool may_have_gradient(const tenon_type& type) {
  return type.dtype == TENON_DTYPE_UNKNOWN ||
         (floating + any_complex).has(static_cast<DType>(type.dtype));
}

/// One backward node whose outputs have gradients. Adds nodes to the graph. Not thread-safe.
class SecondDerivative {
 public:
  /// `gradients`: one for each output of the node; `none` means zero.
  SecondDerivative(GraphBuilder& builder, NodeId backward, std::vector<ValueId> gradients);

  /// Whether the forward operator is a sum of terms that are linear in one input or in each of two.
  /// Its forward and backward kernels then suffice for the second derivative.
  bool is_linear() const;
  /// Returns (value, gradient) pairs for the values that backward reads: the output's gradient and
  /// the forward node's inputs.
  std::vector<std::pair<ValueId, ValueId>> by_linearity() const;

  /// Returns, as a hint, why backward cannot be written as a graph; empty if it can.
  std::string refusal() const;
  /// Adds nodes that compute what backward computes and can be differentiated: from the operator's
  /// gradient(), from its composed nodes, or from elementwise derivatives. Returns a value for each
  /// forward input, `none` if it is zero or not requested. Throws Failure for random operators
  /// inside composed ones.
  std::vector<ValueId> as_graph() const;

 private:
  struct Factors {
    std::vector<ValueId> left, right;  // inputs of the two calls; empty: not needed
  };
  Factors factors() const;
  std::uint32_t nonlinear_input() const;
  ValueId input(std::uint32_t i) const;
  ValueId zeros(ValueId like) const;
  ValueId helper(std::string_view op, const std::vector<ValueId>& inputs,
                 const Attributes& attributes = {}) const;
  std::string free_name() const;
  std::vector<ValueId> with_derivatives() const;
  std::vector<ValueId> by_gradient() const;
  std::vector<ValueId> by_composition() const;
  const OperatorInfo& info() const;

  GraphBuilder& builder_;
  const GraphModel& model_;
  NodeRecord node_, origin_;
  std::vector<ValueId> gradients_;
  // of each input: the other factor of its product; itself if it is linear by itself; or none
  std::vector<std::uint32_t> partner_;
};

}  // namespace tenon

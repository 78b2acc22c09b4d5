// The gradient of an operator as a graph of other operators, instead of backward(). A graph is
// shorter and can be differentiated again; a kernel may be faster and saves memory. If a class has
// both, the kernel computes the gradient, and the graph is used for second derivatives.
#pragma once
#include <cstdint>
#include <string_view>

#include "operator_graph.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Builds the backward graph of one node from other operators, instead of a backward kernel.
///
///     void gradient(tenon::Gradient& g) const {                     // of y = sin(scale * x)
///       auto dy = g.output_grad(0), x = g.input("x");
///       // any operator of the catalogue, from any plugin
///       auto cosine = g.add("cosine", {x}, {{"scale", 1.0}});
///       g.set_input_grad("x", g.add("mul", {dy, cosine}));
///     }
///
/// gradient() reads the node's inputs, outputs and output gradients as values, adds nodes that
/// compute with them, and sets the gradient of each input. Nothing is computed here: values have no
/// elements. Tensors of the forward pass that the added nodes read stay in memory until those nodes
/// have run, so read as few as you can. Inputs without set_input_grad have a gradient of zero. The
/// nodes are differentiable in turn if their operators are. Parameters are members of the object,
/// as in forward.
///
/// Errors: those of OperatorGraph (operator_graph.hpp), the base class with add() and related
/// functions. Threads: gradient() of one operator object may run on several threads at once.
class Gradient : public OperatorGraph {
 public:
  Gradient(tenon_gradient& raw, const detail::Names& names)
      : OperatorGraph(raw, names, "gradient()") {}

  /// An output that forward wrote: often cheaper to keep than the inputs, as for exp and tanh.
  Value output(Which output) {
    return value(TENON_GRADIENT_OUTPUT, find(names_->outputs, "output", output, outputs()));
  }
  /// The gradient of the loss with respect to an output: a tensor of zeros if the output does not
  /// reach the loss.
  Value output_grad(Which output) {
    return value(TENON_GRADIENT_OUTPUT_GRAD, find(names_->outputs, "output", output, outputs()));
  }
  /// False if the output does not reach the loss: its gradient is zero, and values that depend only
  /// on it need not be computed. Always true with hosts before 0.2.
  bool has_output_grad(Which output) const {
    return connected(TENON_GRADIENT_OUTPUT_GRAD, output.in(names_->outputs, outputs()));
  }

  /// Sets the gradient of an input, which must have the input's shape and dtype. Call it once per
  /// input, or not at all for zero. One value may be the gradient of several inputs: for left +
  /// right, set_input_grad(0, dy) and set_input_grad(1, dy).
  void set_input_grad(Which input, Value value) {
    check(raw_->set_input_grad(
        raw_, static_cast<std::uint32_t>(find(names_->inputs, "input", input, inputs())),
        id_of(value)));
  }
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

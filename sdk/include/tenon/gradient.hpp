// The gradient of an operator, written as a graph of other operators, instead of backward(): a graph is shorter and can be differentiated
// again, a kernel may be faster and saves memory. A class with both has the kernel's gradient, and second derivatives by the graph.
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
///       auto cosine = g.add("cosine", {x}, {{"scale", 1.0}});       // any operator of the catalogue, from any plugin
///       g.set_input_grad("x", g.add("mul", {dy, cosine}));
///     }
///
/// It reads the node's inputs, outputs and output gradients as values, adds nodes that compute with them, and sets the gradient of each
/// input. Nothing is computed here: values have no elements. What the added nodes read of the forward pass
/// is kept in memory until they have run: read as little as you can. Inputs without set_input_grad have gradient zero. The nodes are
/// differentiable in turn if their operators are. Parameters are members of the object, as in forward.
///
/// Errors: those of OperatorGraph (operator_graph.hpp), which has add() and what goes with it. Threads: gradient() of one operator object
/// may run on several at once.
class Gradient : public OperatorGraph {
 public:
  Gradient(tenon_gradient& raw, const detail::Names& names) : OperatorGraph(raw, names, "gradient()") {}

  /// An output that forward wrote: often cheaper to keep than the inputs, as for exp and tanh.
  Value output(Which output) { return value(TENON_GRADIENT_OUTPUT, find(names_->outputs, "output", output, outputs())); }
  /// The gradient of the loss by an output. If that output does not reach the loss, this is a tensor of zeros.
  Value output_grad(Which output) { return value(TENON_GRADIENT_OUTPUT_GRAD, find(names_->outputs, "output", output, outputs())); }
  /// False if the output does not reach the loss: its gradient is zero, and what follows from it alone need not be computed. Hosts before
  /// 0.2 cannot tell: true.
  bool has_output_grad(Which output) const { return connected(TENON_GRADIENT_OUTPUT_GRAD, output.in(names_->outputs, outputs())); }

  /// Sets the gradient of an input, which must have the input's shape and dtype. Set it once for each input, or not at all for zero. One
  /// value may be the gradient of several inputs: for left + right, set_input_grad(0, dy) and set_input_grad(1, dy).
  void set_input_grad(Which input, Value value) {
    check(raw_->set_input_grad(raw_, static_cast<std::uint32_t>(find(names_->inputs, "input", input, inputs())), id_of(value)));
  }
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

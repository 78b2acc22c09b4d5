// An operator that is a graph of other operators. Its derivative, inference and storage follow from theirs, and a kernel for it, of the
// same plugin or another one, takes its place where there is one.
#pragma once
#include <cstdint>
#include <string_view>

#include "operator_graph.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Composes an operator from others, instead of a kernel:
///
///     void forward(tenon::Compose& c) const {                       // y = x / sqrt(mean(x * x) + epsilon) * scale
///       auto x = c.input("x");
///       auto mean = c.add("mean", {c.add("square", {x})}, {{"axis", tenon::Ints{-1}}, {"keepdims", true}});
///       auto factor = c.add("rsqrt", {c.add("quadratic", {mean}, {{"b", 1}, {"c", epsilon}})});
///       c.set_output("y", c.add("mul", {c.add("mul", {x, factor}), c.input("scale")}));
///     }
///
/// forward() reads the node's inputs as values, adds nodes that compute with them, and sets each output once. The nodes are called
/// NODE/OPERATOR in plans, traces and errors. Types are those that the added nodes infer; an infer() of the class's own adds what they
/// cannot tell, such as the shapes of weights. Gradients are theirs, too, unless the class gives a gradient(). Any operator of the
/// catalogue may be added, from any plugin, composed ones too, but not the operator itself. Weights are inputs of the composed operator,
/// which may be .weight(); operators with states cannot be added.
///
/// Tenon calls forward() whenever it needs the graph: while a graph is built, when a session is made, with different knowledge of types.
/// The same parameters and types must give the same nodes. Parameters are members of the object, as in a kernel.
///
/// Errors: those of OperatorGraph (operator_graph.hpp), which has add() and what goes with it; the host adds node and operator. Threads:
/// forward(Compose&) of one operator object may run on several at once.
class Compose : public OperatorGraph {
 public:
  Compose(tenon_gradient& raw, const detail::Names& names) : OperatorGraph(raw, names, "forward()") {}

  /// Says which value an output is. Each output is set once; it may be an input. Error: no such output; it is set already.
  /// "part1" is the second of an output "part" with a count.
  void set_output(Which output, Value value) {
    check(raw_->set_output(raw_, static_cast<std::uint32_t>(find(names_->outputs, "output", output, outputs())), id_of(value)));
  }
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

// Operators composed of other operators. Their derivative, inference and storage follow from those,
// and a kernel of the same or another plugin replaces the composition if there is one.
#pragma once
#include <cstdint>
#include <string_view>

#include "operator_graph.hpp"

#pragma GCC visibility push(hidden)
namespace tenon::TENON_SDK {

/// Composes an operator from others, instead of a kernel:
///
///     void forward(tenon::Compose& c) const {  // y = x / sqrt(mean(x * x) + epsilon) * scale
///       auto x = c.input("x");
///       auto mean = c.add("mean", {c.add("square", {x})},
///                         {{"axis", tenon::Ints{-1}}, {"keepdims", true}});
///       auto factor = c.add("rsqrt", {c.add("quadratic", {mean}, {{"b", 1}, {"c", epsilon}})});
///       c.set_output("y", c.add("mul", {c.add("mul", {x, factor}), c.input("scale")}));
///     }
///
/// forward() reads the node's inputs as values, adds nodes that compute with them, and sets each
/// output once. The nodes are named NODE/OPERATOR in plans, traces and errors. Types are those that
/// the added nodes infer; the class may define infer() for what they cannot infer, such as the
/// shapes of weights. Gradients also follow from the nodes, unless the class defines gradient().
/// Any operator of the catalogue may be added, from any plugin and also a composed one, but not the
/// operator itself. Weights are inputs of the composed operator, which may be .weight(); operators
/// with states cannot be added.
///
/// Tenon calls forward() whenever it needs the graph: while a graph is built and when a session is
/// made, with more or fewer known types. The same parameters and types must give the same nodes.
/// Parameters are members of the object, as in a kernel.
///
/// Errors: those of OperatorGraph (operator_graph.hpp), the base class with add() and related
/// functions; the host adds node and operator. Threads: forward(Compose&) of one operator object
/// may run on several threads at once.
class Compose : public OperatorGraph {
 public:
  Compose(tenon_gradient& raw, const detail::Names& names)
      : OperatorGraph(raw, names, "forward()") {}

  /// Sets the value of an output. Each output is set exactly once; the value may be an input.
  /// "part1" is the second of an output "part" with a count. Errors: no such output; it is already
  /// set.
  void set_output(Which output, Value value) {
    check(raw_->set_output(
        raw_, static_cast<std::uint32_t>(find(names_->outputs, "output", output, outputs())),
        id_of(value)));
  }
};

}  // namespace tenon::TENON_SDK
#pragma GCC visibility pop

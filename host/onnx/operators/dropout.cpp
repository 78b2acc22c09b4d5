// Nodes that the operator's own form does not take: with a training_mode, with a mask that somebody reads, or in graphs in graphs, which
// draw no random numbers.
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

void dropout(NodeImport& node) {
  node.ignore("seed");
  const auto x = node.input(0);
  // What is not known before runs is no number to train with: such a node is the identity, which it is wherever nothing trains.
  const bool known = node.version() < 12 || !node.has(1) || node.input(1).known();
  const double ratio = !known ? 0 : node.version() < 12 ? node.real("ratio", 0.5) : node.known_number(1).value_or(0.5);
  if (node.known_number(2).value_or(0) != 0)
    node.refuse("its training_mode is true, so it drops in every run, and a graph drops only in training",
                "export the model for inference: training drops then all the same");
  if (node.is_read(1))
    node.output(1, node.cast(node.add("tenon.fill_like", std::vector{x}, {{"value", 1.0}}), node.version() < 10 ? node.dtype(x) : boolean));
  const bool trains = !node.importer().is_inner() && node.dtype(x) == f32 && ratio > 0 && ratio < 1;
  node.output(0, trains ? node.add("tenon.dropout", std::vector{x}, {{"p", ratio}}) : x);
}

const Composition dropout_read[] = {{"Dropout", dropout, 7}};

}  // namespace
}  // namespace tenon::onnx

// Dropout nodes that the operator's own ONNX form does not cover: with a training_mode, with a mask
// output that is used, or in subgraphs, which cannot draw random numbers.
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

void dropout(NodeImport& node) {
  node.ignore("seed");
  const auto x = node.input(0);
  // A ratio that is unknown at import cannot be used for training. Such a node becomes the
  // identity, as in inference.
  const bool known = node.version() < 12 || !node.has(1) || node.input(1).known();
  const double ratio = !known                ? 0
                       : node.version() < 12 ? node.real("ratio", 0.5)
                                             : node.known_number(1).value_or(0.5);
  if (node.known_number(2).value_or(0) != 0)
    node.refuse(
        "its training_mode is true, so it drops in every run; Tenon graphs drop only in training",
        "export the model for inference; training in Tenon still applies dropout");
  if (node.is_read(1))
    node.output(1, node.cast(node.add("tenon.fill_like", std::vector{x}, {{"value", 1.0}}),
                             node.version() < 10 ? node.dtype(x) : boolean));
  const bool trains = !node.importer().is_inner() && node.dtype(x) == f32 && ratio > 0 && ratio < 1;
  node.output(0, trains ? node.add("tenon.dropout", std::vector{x}, {{"p", ratio}}) : x);
}

const Composition dropout_read[] = {{"Dropout", dropout, 7}};

}  // namespace
}  // namespace tenon::onnx

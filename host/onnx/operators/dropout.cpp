// Nodes that the operator's own form does not take: with a training_mode, or with a mask that somebody reads.
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

void dropout(NodeImport& node) {
  node.ignore("seed");
  const auto x = node.input(0);
  const double ratio = node.version() < 12 ? node.real("ratio", 0.5) : node.known_number(1).value_or(0.5);
  if (node.known_number(2).value_or(0) != 0)
    node.refuse("its training_mode is true, so it drops in every run, and a graph drops only in training",
                "export the model for inference: training drops then all the same");
  if (node.is_read(1)) {
    node.require(node.version() >= 10, "its mask is read, which has another type before version 10");
    const auto everything = node.constant(Tensor::from<bool>({true}, Shape::scalar()));
    node.output(1, node.add("tenon.broadcast_to", Importer::Named{{"x", everything}, {"sizes", node.shape_of(x)}}));
  }
  const bool trains = node.dtype(x) == f32 && ratio > 0 && ratio < 1;
  node.output(0, trains ? node.add("tenon.dropout", std::vector{x}, {{"p", ratio}}) : x);
}

const Composition dropout_read[] = {{"Dropout", dropout, 7}};

}  // namespace
}  // namespace tenon::onnx

// Conversions, places of the largest, products of halves.
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

void cast_like(NodeImport& node) {
  node.ignore("saturate");  // of 8-bit floats, which Tenon has not
  node.output(node.cast(node.input(0), node.dtype(node.input(1))));
}

void hardmax(NodeImport& node) {
  const auto x = node.input(0);
  const int rank = node.rank(x), axis = node.axis(node.integer("axis", node.version() < 13 ? 1 : -1), rank);
  node.require(node.version() >= 13 || axis == rank - 1,
               "before opset 13 it takes all axes from its axis on as one, which is done for the last one alone");
  const auto shape = node.shape(x);
  node.require(shape.has_rank() && shape[axis] != unknown, "the size along its axis is not known");
  const auto largest = node.add("tenon.argmax", std::vector{x}, {{"axis", {axis}}});
  node.output(node.cast(node.add("tenon.one_hot", std::vector{largest}, {{"depth", shape[axis]}, {"axis", axis}, {"dtype", "float32"}}),
                        node.dtype(x)));
}

// Halves are multiplied in float32 and rounded once.
void product(NodeImport& node) {
  const auto type = node.dtype(node.input(0));
  node.require(type == f16 || type == bf16, "matmul computes floating numbers alone");
  node.output(node.cast(node.add("tenon.matmul", std::vector{node.widened(node.input(0)), node.widened(node.input(1))}), type));
}

const Composition conversions_read[] = {{"CastLike", cast_like}, {"Hardmax", hardmax}, {"MatMul", product}};

}  // namespace
}  // namespace tenon::onnx

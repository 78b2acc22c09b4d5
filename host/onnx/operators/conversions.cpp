// Casts and Hardmax.
#include "onnx/operators/matrix.hpp"

namespace tenon::onnx {
namespace {

void cast_like(NodeImport& node) {
  node.ignore("saturate");  // only affects 8-bit floats, which Tenon does not support
  node.output(node.cast(node.input(0), node.dtype(node.input(1))));
}

// One-hot of the first of the largest elements along the axis.
Operand hot(NodeImport& node, const Operand& x, std::int64_t axis) {
  const auto size = sizes_along(node, x, axis, axis == -1 ? INT64_MAX : axis + 1);
  const auto largest = node.add("tenon.argmax", std::vector{x}, {{"axis", {axis}}});
  const Attributes along{{"axis", axis}, {"dtype", "float32"}};
  return node.cast(
      node.add("tenon.one_hot", Importer::Named{{"indices", largest}, {"size", size}}, along),
      node.dtype(x));
}

// Before opset 13, all axes from `axis` on are treated as one.
void hardmax(NodeImport& node) {
  const auto x = node.input(0);
  if (node.version() >= 13) return node.output(hot(node, x, node.integer("axis", -1)));
  const auto axis = node.integer("axis", 1);
  if (axis == -1) return node.output(hot(node, x, axis));
  node.output(reshaped(node, hot(node, as_matrix(node, x, axis), -1), node.shape_of(x)));
}

const Composition conversions_read[] = {{"CastLike", cast_like}, {"Hardmax", hardmax}};

}  // namespace
}  // namespace tenon::onnx

// Casts and Hardmax.
#include "onnx/operators/matrix.hpp"

namespace tenon::onnx {
namespace {

// Floats wrap around in 4- and 2-bit integers, as in ONNX's reference implementation, where
// tenon.cast saturates.
void cast_to(NodeImport& node, DType to) {
  auto x = node.input(0);
  const bool saturate = node.integer("saturate", 1) != 0;
  const auto rounding = node.text("round_mode", "up");
  if (node.dtype(x) == to) return node.output(x);
  if (low_bit_integers.has(to) && (floating + low_bit_floats).has(node.dtype(x)))
    x = node.cast(x, i32);
  if (!low_bit_floats.has(to)) return node.output(node.cast(x, to));
  node.output(node.add(
      "tenon.cast", std::vector{x},
      {{"dtype", std::string(name_of(to))}, {"saturate", saturate}, {"rounding", rounding}}));
}

void cast(NodeImport& node) {
  const auto* element = element_type(static_cast<std::int32_t>(node.integer("to", 0)));
  node.require(element != nullptr && element->dtype != unknown_dtype,
               "its type 'to' is not supported by Tenon");
  cast_to(node, element->dtype);
}

void cast_like(NodeImport& node) {
  cast_to(node, node.dtype(node.input(1)));
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

const Composition conversions_read[] = {
    {"Cast", cast, 19}, {"CastLike", cast_like}, {"Hardmax", hardmax}};

}  // namespace
}  // namespace tenon::onnx

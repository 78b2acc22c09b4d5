// N-ary sums and extrema, Clip, and functions that correspond to a Tenon operator only under a
// condition.
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
namespace {

Operand folded(NodeImport& node, const char* op) {
  auto result = node.input(0);
  for (std::size_t i = 1; i < node.inputs(); ++i)
    result = node.add(op, std::vector{result, node.input(i)});
  return result;
}

void sum(NodeImport& node) {
  node.output(folded(node, "tenon.add"));
}
void maximum(NodeImport& node) {
  node.output(folded(node, "tenon.maximum"));
}
void minimum(NodeImport& node) {
  node.output(folded(node, "tenon.minimum"));
}

void mean(NodeImport& node) {
  const auto total = folded(node, "tenon.add");
  node.output(
      node.add("tenon.mul",
               std::vector{total, node.scalar(1.0 / static_cast<double>(node.inputs()), total)}));
}

// A maximum with the lower bound, then a minimum with the upper bound: if the bounds cross, the
// upper one wins.
void clip(NodeImport& node) {
  auto result = node.input(0);
  if (node.version() < 11) {
    result = node.add(
        "tenon.maximum",
        std::vector{result, node.scalar(node.real("min", -3.4028234663852886e38), result)});
    return node.output(node.add(
        "tenon.minimum",
        std::vector{result, node.scalar(node.real("max", 3.4028234663852886e38), result)}));
  }
  if (node.has(1)) result = node.add("tenon.maximum", std::vector{result, node.input(1)});
  if (node.has(2)) result = node.add("tenon.minimum", std::vector{result, node.input(2)});
  node.output(result);
}

const Composition arithmetic_read[] = {
    {"Sum", sum}, {"Max", maximum}, {"Min", minimum}, {"Mean", mean}, {"Clip", clip}};

}  // namespace

namespace {

void gelu_by_name(NodeImport& node) {
  const auto approximate = node.text("approximate", "none");
  node.require(approximate == "none" || approximate == "tanh",
               "its approximate is neither none nor tanh");
  node.output(node.add(approximate == "tanh" ? "tenon.gelu_tanh" : "tenon.gelu",
                       std::vector{node.input(0)}));
}

// The result has the base's dtype; both are computed in a dtype that can represent them.
void pow_of_two_types(NodeImport& node) {
  const auto base = node.input(0), exponent = node.input(1);
  const auto type = node.dtype(base), other = node.dtype(exponent);
  if (type == other) return node.output(node.add("tenon.pow", std::vector{base, exponent}));
  const auto wide = any_integer.has(type) && any_integer.has(other) ? i64 : f64;
  node.output(node.cast(
      node.add("tenon.pow", std::vector{node.cast(base, wide), node.cast(exponent, wide)}), type));
}

const Composition functions_read[] = {{"Gelu", gelu_by_name, 20}, {"Pow", pow_of_two_types, 7}};

}  // namespace

}  // namespace tenon::onnx

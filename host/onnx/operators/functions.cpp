// Functions that correspond to a Tenon operator only under a condition.
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {
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

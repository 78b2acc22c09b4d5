#include "onnx/operators.hpp"

#include <algorithm>
#include <tuple>

namespace tenon::onnx {

std::vector<OperatorUse> operators_of(const Model& model) {
  std::vector<const proto::Node*> nodes;
  const auto add = [&](const proto::Node& node) { nodes.push_back(&node); };
  for_each_node(model.graph.nodes, add);
  for (const auto& function : model.functions) for_each_node(function.nodes, add);
  const auto key = [](const proto::Node* node) {
    return std::tie(node->domain, node->type, node->overload);
  };
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](const auto* left, const auto* right) { return key(left) < key(right); });
  std::vector<OperatorUse> uses;
  for (const auto* const node : nodes) {
    if (uses.empty() || key(uses.back().first) != key(node)) uses.push_back({node, 0});
    ++uses.back().count;
  }
  return uses;
}

}  // namespace tenon::onnx

// Tensors whose channels are the last axis, as com.microsoft's operators may have them.
#pragma once
#include "onnx/import/node_import.hpp"

namespace tenon::onnx {

/// [batch, spatial axes ..., channels] as [batch, channels, spatial axes ...].
inline Operand channels_to_front(NodeImport& node, const Operand& x) {
  const int rank = node.rank(x);
  node.require(rank >= 3, "its input must have at least 3 dimensions");
  std::vector<std::int64_t> axes{0, rank - 1};
  for (int a = 1; a < rank - 1; ++a) axes.push_back(a);
  return node.add("tenon.transpose", std::vector{x}, {{"axes", axes}});
}

/// The inverse of channels_to_front.
inline Operand channels_to_back(NodeImport& node, const Operand& x) {
  const int rank = node.rank(x);
  std::vector<std::int64_t> axes{0};
  for (int a = 2; a < rank; ++a) axes.push_back(a);
  axes.push_back(1);
  return node.add("tenon.transpose", std::vector{x}, {{"axes", axes}});
}

}  // namespace tenon::onnx

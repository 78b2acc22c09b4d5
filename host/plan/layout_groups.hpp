// What of a node may be channels-last.
#pragma once
#include <cstdint>
#include <vector>

#include "plan/lowering.hpp"

namespace tenon {

enum class LayoutWish : std::uint8_t { plain, takes, prefers };

/// A node's inputs and outputs that have one layout together, by their places among the node's.
struct LayoutGroup {
  LayoutWish wish = LayoutWish::plain;
  std::vector<std::uint32_t> inputs, outputs;
};

/// `types`: of all values. Of an elementwise node the operands of the output's shape, if the others are scalars or one number for each
/// channel. A node whose kernels support no such types stays plain.
LayoutGroup layout_group(const Lowered& graph, const Kernels& kernels, NodeId id, const std::vector<tenon_type>& types);

}  // namespace tenon

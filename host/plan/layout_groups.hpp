// Which inputs and outputs of a node may be channels-last.
#pragma once
#include <cstdint>
#include <vector>

#include "plan/lowering.hpp"

namespace tenon {

enum class LayoutPreference : std::uint8_t { plain, accepts, prefers };

/// Inputs and outputs of a node, by index, that must have the same layout.
struct LayoutGroup {
  LayoutPreference preference = LayoutPreference::plain;
  std::vector<std::uint32_t> inputs, outputs;
};

/// Returns the group of a node. `types`: of all values. For an elementwise node: the operands with
/// the output's shape, provided the others are scalars or have one element for each channel. A node
/// whose kernels do not support channels-last types stays plain.
LayoutGroup layout_group(const LoweredGraph& graph, const Kernels& kernels, NodeId id,
                         const std::vector<tenon_type>& types);

}  // namespace tenon

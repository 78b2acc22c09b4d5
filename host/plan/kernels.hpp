// The kernel objects of a session: one for each node.
#pragma once
#include <string>
#include <vector>

#include "graph/binding.hpp"

namespace tenon {

/// Made once for a session; its plans use them one after the other.
struct Kernels {
  Kernels(const GraphModel& model, const Binding& binding, const std::string& device);
  /// The one a node runs with: a backward node has its origin's.
  const Instance& of(const GraphModel& model, NodeId id) const {
    const auto& node = model.nodes[id];
    return nodes[node.pass == Pass::backward ? node.origin : id];
  }
  std::vector<Instance> nodes;
};

/// Throws Failure (plugin) where the operator cannot run on the CPU.
void require_kernel(const LoadedOperator& op);

}  // namespace tenon

// The kernel objects of a session: one for each node.
#pragma once
#include <string>
#include <vector>

#include "graph/binding.hpp"

namespace tenon {

/// Made once for a session; its plans use them one after the other.
struct Kernels {
  /// `cast` is the operator cast_storage.
  Kernels(const GraphModel& model, const Binding& binding, const LoadedOperator& cast, const std::string& device);
  /// The one a node runs with: a backward node has its origin's, and those that a plan put in make tensors dense.
  const Instance& of(const GraphModel& model, NodeId id) const {
    const auto& node = model.nodes[id];
    const auto own = node.pass == Pass::backward ? node.origin : id;
    return own < nodes_.size() ? nodes_[own] : to_dense_;
  }
  const LoadedOperator& cast() const { return cast_; }

 private:
  std::vector<Instance> nodes_;
  const LoadedOperator& cast_;
  Instance to_dense_;  // cast_storage with its defaults
};

/// Throws Failure (plugin) where the operator cannot run on the CPU.
void require_kernel(const LoadedOperator& op);

}  // namespace tenon

// The kernel objects of a session, one for each node, and the devices they run on.
#pragma once
#include <string>
#include <vector>

#include "device/device.hpp"
#include "graph/binding.hpp"
#include "graph/kernel_set.hpp"

namespace tenon {

/// Made once for a session; its plans use them one after the other.
class Kernels {
 public:
  /// A node that names a device runs there, and its operator must have a kernel for it. Any other node runs on `device`, or on the CPU if
  /// the operator has no kernel for `device` that computes the node's types, as far as the graph knows them. Backward and recomputed nodes
  /// run where their origins do. `cast` is the operator cast_storage. Throws Failure that names the node: (plugin) if a kernel is missing,
  /// (usage) if this machine has no such device, or if `precision` is not f32 and no node has a kernel that computes in it.
  Kernels(const GraphModel& model, const Binding& binding, const LoadedOperator& cast, Device& device, DType precision = f32);

  /// The objects that a node may run with on its device: a backward node has its origin's, and those that a plan put in make tensors
  /// dense or reorder them.
  const KernelSet& all_of(const GraphModel& model, NodeId id, const Device& device) const {
    const auto own = owner(model, id);
    if (own < nodes_.size()) return nodes_[own].kernels;
    return reorders(model, id) ? reorder_ : to_dense_[device.type()];
  }
  /// The one of them that the node has with types of `types`, by its place in all_of(). Throws Failure where none computes them.
  std::uint32_t choose(const GraphModel& model, const Binding& binding, NodeId id, const Device& device,
                       const std::vector<tenon_type>& types) const;
  /// Whether tensors can be made dense there.
  bool converts_on(const Device& device) const { return !to_dense_[device.type()].empty(); }
  /// Of a node of the graph, not one that a plan put in.
  Device& device_of(const GraphModel& model, NodeId id) const { return *nodes_[owner(model, id)].device; }
  /// Why such a node runs on the CPU where another device was asked for; empty where it does as was asked.
  const std::string& why_on_cpu(const GraphModel& model, NodeId id) const { return nodes_[owner(model, id)].why_on_cpu; }

  const LoadedOperator& cast() const { return cast_; }
  Device& device() const { return device_; }  ///< of the nodes that name none
  DType precision() const { return precision_; }

 private:
  struct Node {
    Device* device = nullptr;
    KernelSet kernels;
    std::string why_on_cpu;
  };
  static NodeId owner(const GraphModel& model, NodeId id) {
    const auto& node = model.nodes[id];
    return node.pass == Pass::backward ? node.origin : id;
  }
  static bool reorders(const GraphModel& model, NodeId id);
  void require_precision(const GraphModel& model, const Binding& binding) const;
  Node place(const GraphModel& model, NodeId id, const LoadedOperator& op, bool backward) const;
  void make(const GraphModel& model, NodeId id, const LoadedOperator& op, bool backward, std::span<const tenon_attribute> attributes,
            Node& placed) const;

  std::vector<Node> nodes_;
  Device& device_;
  DType precision_;
  const LoadedOperator& cast_;
  KernelSet reorder_;
  ByDevice<KernelSet> to_dense_;  // cast_storage with its defaults, where it has a kernel
};

}  // namespace tenon

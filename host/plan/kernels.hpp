// The kernel objects of a session, one set for each node, and the devices they run on.
#pragma once
#include <string>
#include <vector>

#include "device/device.hpp"
#include "graph/binding.hpp"
#include "graph/kernel_set.hpp"

namespace tenon {

/// Created once for a session and shared by its plans, which run one at a time.
class Kernels {
 public:
  /// A node that names a device runs there, and its operator must have a kernel for it. Other nodes
  /// run on `device`, or on the CPU if the operator has no kernel for `device` that supports the
  /// node's types, as far as the graph knows them. Backward and recomputed nodes run where their
  /// origins do. `cast` is the operator cast_storage. Throws Failure that names the node: (plugin)
  /// if a kernel is missing, (usage) if this machine has no such device, or if `precision` is not
  /// f32 and no node has a kernel that computes in it.
  Kernels(const GraphModel& model, const Binding& binding, const LoadedOperator& cast,
          Device& device, DType precision = f32);

  /// The kernels available to a node on its device. A backward node uses its origin's; nodes that a
  /// plan added convert to dense or reorder.
  const KernelSet& all_of(const GraphModel& model, NodeId id, const Device& device) const {
    const auto own = owner(model, id);
    if (own < nodes_.size()) return nodes_[own].kernels;
    return reorders(model, id) ? reorder_ : to_dense_[device.type()];
  }
  /// Returns the index in all_of() of the kernel for these types. Throws Failure if none supports
  /// them.
  std::uint32_t choose(const GraphModel& model, const Binding& binding, NodeId id,
                       const Device& device, const std::vector<tenon_type>& types) const;
  /// Whether tensors can be converted to dense on this device.
  bool converts_on(const Device& device) const { return !to_dense_[device.type()].empty(); }
  /// The device of a node of the original graph, not of one that a plan added.
  Device& device_of(const GraphModel& model, NodeId id) const {
    return *nodes_[owner(model, id)].device;
  }
  /// Why a node of the original graph runs on the CPU although another device was requested; empty
  /// if it does not.
  const std::string& why_on_cpu(const GraphModel& model, NodeId id) const {
    return nodes_[owner(model, id)].why_on_cpu;
  }

  const LoadedOperator& cast() const { return cast_; }
  Device& device() const { return device_; }  ///< of nodes that name none
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
  void make(const GraphModel& model, NodeId id, const LoadedOperator& op, bool backward,
            std::span<const tenon_attribute> attributes, Node& placed) const;

  std::vector<Node> nodes_;
  Device& device_;
  DType precision_;
  const LoadedOperator& cast_;
  KernelSet reorder_;
  ByDevice<KernelSet> to_dense_;  // cast_storage with default parameters, if there is a kernel
};

}  // namespace tenon

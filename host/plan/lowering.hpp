// The executed graph: which nodes run sparse kernels, where tensors are converted to dense, and
// where they are copied between devices.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "graph/requested_outputs.hpp"
#include "graph/snapshot.hpp"
#include "plan/fusion/fused_group.hpp"
#include "plan/kernels.hpp"
#include "plan/tensor_table.hpp"

namespace tenon {

/// A sparse value that is converted to dense because a node has no kernel for the storages it
/// reads.
struct Conversion {
  ValueId value;         // in the graph
  ValueId dense;         // what its readers use instead
  std::uint8_t storage;  // storage before the conversion
  std::int64_t bytes;    // size after the conversion
};

/// A value that is copied because a node on another device reads it.
struct DeviceCopy {
  NodeId node;  // the copying node, whose input is the value
  ValueId copy;
};

/// If a pass added nodes or changed anything else, `graph` is a copy of the original graph with new
/// nodes after all others, so nodes and values keep their numbers. Everything that a node reads and
/// writes is on the node's device.
struct LoweredGraph {
  std::shared_ptr<const GraphSnapshot> graph;
  std::vector<NodeId> order;               // topologically sorted
  std::vector<std::uint32_t> kernels;      // of each node: index in Kernels::all_of()
  std::vector<bool> sparse;                // of each node: runs forward_sparse or backward_sparse
  std::vector<Device*> devices;            // of each node; for a copy, the target
  std::vector<Device*> value_devices;      // of each value
  std::map<NodeId, std::string> variants;  // nodes that run a kernel variant -> its class
  std::vector<Conversion> conversions;
  std::vector<DeviceCopy> copies;
  std::vector<std::uint32_t> copy_of;  // of each node: index in `copies`; none: not a copy
  std::vector<FusedGroup> groups;      // fused elementwise groups; their nodes are the last ones
  NodeId first_group = none;

  bool partial = false;  // only some outputs are requested: nodes run only for them

  const GraphModel& model() const { return graph->model; }
  const Binding& binding() const { return graph->binding; }
  const Instance& kernel_of(NodeId id, const Kernels& kernels_of_all) const {
    return kernels_of_all.all_of(model(), id, *devices[id])[kernels[id]];
  }
  bool copies_at(NodeId id) const { return copy_of[id] != none; }
  /// The value that is copied.
  ValueId source_of(const DeviceCopy& copy) const {
    return model().edges[model().nodes[copy.node].first_edge];
  }
  /// The fused group that the node runs; null: it runs a kernel, or copies.
  const FusedGroup* group_at(NodeId id) const {
    return id < first_group ? nullptr : &groups[id - first_group];
  }
  /// The nodes that it replaces: those of its fused group, else itself.
  std::span<const NodeId> nodes_at(const NodeId& id) const {
    const auto* group = group_at(id);
    return group == nullptr ? std::span(&id, 1) : std::span(group->nodes);
  }
  NodeId last_of(NodeId id) const { return nodes_at(id).back(); }
  /// Whether the node's step can accumulate into this output.
  bool accumulates(NodeId id, std::uint32_t output) const {
    if (const auto* group = group_at(id); group != nullptr) return group->adds[output];
    return binding().nodes[id].info->accumulates && !sparse[id];
  }
  /// Returns the plugin whose worker process runs the node; null if this process runs it.
  const IsolatedPlugin* worker_of(NodeId id) const {
    return copies_at(id) || !devices[id]->is_cpu() ? nullptr
                                                   : binding().nodes[id].op->isolated_plugin();
  }
  /// Whether the node copies a value that exists before the run to a GPU.
  bool copies_external_value(NodeId id) const {
    return copies_at(id) && !devices[id]->is_cpu() &&
           model().values[source_of(copies[copy_of[id]])].role != Role::output;
  }
};

/// enum tenon_dispatch
inline std::int32_t dispatch_of(bool backward, bool sparse) {
  return sparse     ? backward ? TENON_BACKWARD_SPARSE : TENON_FORWARD_SPARSE
         : backward ? TENON_BACKWARD
                    : TENON_FORWARD;
}

}  // namespace tenon

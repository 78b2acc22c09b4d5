// The graph as it runs: which nodes run sparse kernels, where tensors are made dense, and where they are copied to another device.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "graph/needed.hpp"
#include "graph/snapshot.hpp"
#include "plan/chains/element_chain.hpp"
#include "plan/kernels.hpp"
#include "plan/tensor_table.hpp"

namespace tenon {

/// A sparse value that is made dense because a node has no kernel for the storages it reads.
struct Conversion {
  ValueId value;         // of the graph
  ValueId dense;         // what its readers get instead
  std::uint8_t storage;  // what it was
  std::int64_t bytes;    // what it becomes
};

/// A value that is copied because it is wanted on another device than the one it lies on.
struct DeviceCopy {
  NodeId node;  // that copies it: its input is the value
  ValueId copy;
};

/// If a pass added nodes or changed anything else, `graph` is a copy of the planned one, with new nodes after all others, so that numbers
/// of nodes and values stay what they were. All that a node reads and writes lies where it runs.
struct Lowered {
  std::shared_ptr<const GraphSnapshot> graph;
  std::vector<NodeId> order;               // every node after what it reads
  std::vector<std::uint32_t> kernels;      // of each node: which of Kernels::all_of() runs
  std::vector<bool> sparse;                // of each node: it runs forward_sparse or backward_sparse
  std::vector<Device*> devices;            // of each node; of one that copies, where it copies to
  std::vector<Device*> places;             // of each value
  std::map<NodeId, std::string> variants;  // of nodes whose kernel is one: its class
  std::vector<Conversion> conversions;
  std::vector<DeviceCopy> copies;
  std::vector<std::uint32_t> copy_of;  // of each node: which of the copies it makes; none: it is a node of the graph, or converts
  std::vector<ElementChain> chains;    // their nodes are the last ones
  NodeId first_chain = none;

  bool partial = false;  // only some outputs are wanted: nodes run for them alone

  const GraphModel& model() const { return graph->model; }
  const Binding& binding() const { return graph->binding; }
  const Instance& kernel_of(NodeId id, const Kernels& kernels_of_all) const {
    return kernels_of_all.all_of(model(), id, *devices[id])[kernels[id]];
  }
  bool copies_at(NodeId id) const { return copy_of[id] != none; }
  /// The value that is copied.
  ValueId source_of(const DeviceCopy& copy) const { return model().edges[model().nodes[copy.node].first_edge]; }
  /// The chain that the node runs; null: it runs a kernel, or copies.
  const ElementChain* chain_at(NodeId id) const { return id < first_chain ? nullptr : &chains[id - first_chain]; }
  /// The nodes that it stands for: of a chain those in it, else itself.
  std::span<const NodeId> nodes_at(const NodeId& id) const {
    const auto* chain = chain_at(id);
    return chain == nullptr ? std::span(&id, 1) : std::span(chain->nodes);
  }
  NodeId last_of(NodeId id) const { return nodes_at(id).back(); }
  /// Whether the node's step can add this output to what is there.
  bool accumulates(NodeId id, std::uint32_t output) const {
    if (const auto* chain = chain_at(id); chain != nullptr) return chain->adds[output];
    return binding().nodes[id].info->accumulates && !sparse[id];
  }
  /// In whose worker process the node runs; null: in this process.
  const IsolatedPlugin* worker_of(NodeId id) const {
    return copies_at(id) || !devices[id]->is_cpu() ? nullptr : binding().nodes[id].op->isolated_plugin();
  }
  /// Whether the node copies to a GPU what is there before a run begins.
  bool copies_given(NodeId id) const {
    return copies_at(id) && !devices[id]->is_cpu() && model().values[source_of(copies[copy_of[id]])].role != Role::output;
  }
};

/// enum tenon_dispatch
inline std::int32_t dispatch_of(bool backward, bool sparse) {
  return sparse ? backward ? TENON_BACKWARD_SPARSE : TENON_FORWARD_SPARSE : backward ? TENON_BACKWARD : TENON_FORWARD;
}

}  // namespace tenon

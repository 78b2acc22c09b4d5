// Storage inference over a graph: which nodes run sparse kernels, and where tensors are made dense first.
#pragma once
#include <memory>
#include <vector>

#include "graph/binding.hpp"
#include "plan/kernels.hpp"

namespace tenon {

/// A sparse value that is made dense because a node has no kernel for the storages it reads.
struct Conversion {
  ValueId value;         // of the graph
  ValueId dense;         // what its readers get instead
  std::uint8_t storage;  // what it was
  std::int64_t bytes;    // what it becomes
};

/// The graph as it runs. Where conversions are needed it is a copy of the one given, with cast_storage nodes behind all others, so that the
/// numbers of nodes and values stay what they were.
struct Lowered {
  const GraphModel& model;
  const Binding& binding;
  std::vector<NodeId> order;  // every node after what it reads
  std::vector<bool> sparse;   // of each node: it runs forward_sparse or backward_sparse
  std::vector<Conversion> conversions;
  std::unique_ptr<GraphModel> own_model;
  std::unique_ptr<Binding> own_binding;  // without objects: those are the Kernels'
};

/// enum tenon_dispatch
inline std::int32_t dispatch_of(bool backward, bool sparse) {
  return sparse ? backward ? TENON_BACKWARD_SPARSE : TENON_FORWARD_SPARSE : backward ? TENON_BACKWARD : TENON_FORWARD;
}

/// `types` are those of all values, inferred to the end; their storages are read for inputs, variables, states and constants, and set for
/// all others. Updates are made in training alone. Throws Failure for what no storage can do: a state that is sparse, csr of other than two
/// dimensions, a sparse variable that is updated.
Lowered lower_storage(const GraphModel& model, const Binding& binding, const Kernels& kernels, bool training,
                      std::vector<tenon_type>& types);

}  // namespace tenon

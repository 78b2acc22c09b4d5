// The tensors of a session's variables, states and constants.
#pragma once
#include <tenon/host/tensor.hpp>
#include <vector>

#include "graph/model.hpp"

namespace tenon {

/// Indexed by value; empty for values without elements. Owned by the session: runs modify these,
/// never the graph.
using TensorTable = std::vector<Tensor>;

/// Returns the graph's own tensors, without copying, as stored in its file.
inline TensorTable tensors_of(const GraphModel& model) {
  TensorTable tensors(model.values.size());
  for (ValueId id = 0; id < tensors.size(); ++id)
    if (const auto stored = model.values[id].tensor; stored != none)
      tensors[id] = model.tensors[stored];
  return tensors;
}

}  // namespace tenon

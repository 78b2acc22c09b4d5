// The elements of a session's variables, states and constants.
#pragma once
#include <tenon/host/tensor.hpp>
#include <vector>

#include "graph/model.hpp"

namespace tenon {

/// By value; empty where a value has none. They are the session's: what runs change is changed here, and never in the graph.
using TensorTable = std::vector<Tensor>;

/// The graph's own, shared with it, as its file has them.
inline TensorTable tensors_of(const GraphModel& model) {
  TensorTable tensors(model.values.size());
  for (ValueId id = 0; id < tensors.size(); ++id)
    if (const auto stored = model.values[id].tensor; stored != none) tensors[id] = model.tensors[stored];
  return tensors;
}

}  // namespace tenon

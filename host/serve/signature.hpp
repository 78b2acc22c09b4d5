// What clients see of a graph: the inputs that they send and the outputs that they get.
#pragma once
#include <span>
#include <string>
#include <tenon/host/graph.hpp>
#include <vector>

namespace tenon::serve {

struct ServedTensor {
  std::string name;
  DType dtype = unknown_dtype;
  Shape shape;  ///< with the batch axis, if there is one; -1 where a request chooses
};

struct Signature {
  std::vector<ServedTensor> inputs, outputs;
  bool all_inputs = false, all_outputs = false;  ///< those of the graph, in its order
  /// Whether the first axis of each may be one of rows, along which requests are joined: that nothing says otherwise is all that is known.
  bool may_have_rows = false;
};

/// Of the graph's outputs with these names, all if there are none, and of the inputs that they need. Throws Failure: (usage) for a name
/// that is no output, and where a dtype or rank is not known, cannot be sent, or is more than 8.
Signature signature_of(const Graph& graph, std::span<const std::string> outputs = {});

}  // namespace tenon::serve

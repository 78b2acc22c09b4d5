// The inputs and outputs of a graph that clients see.
#pragma once
#include <span>
#include <string>
#include <tenon/host/graph.hpp>
#include <vector>

namespace tenon::serve {

struct ServedTensor {
  std::string name;
  DType dtype = unknown_dtype;
  Shape shape;  ///< with the batch axis, if there is one; -1: chosen by the request
};

struct Signature {
  std::vector<ServedTensor> inputs, outputs;
  bool all_inputs = false, all_outputs = false;  ///< all of the graph's, in its order
  /// Whether the first axis of each may be a batch axis along which requests are joined. True only
  /// means that no shape contradicts it.
  bool may_have_rows = false;
};

/// The signature of these outputs of the graph (all if the list is empty) and of the inputs that
/// they need. Throws Failure (usage) for a name that is not an output, and for values whose dtype
/// or rank is unknown, whose dtype clients cannot send, or whose rank is more than 8.
Signature signature_of(const Graph& graph, std::span<const std::string> outputs = {});

}  // namespace tenon::serve

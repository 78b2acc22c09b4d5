// What a graph consists of, as an application looks at it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <tenon/attribute_map.hpp>
#include <tenon/dtype.hpp>
#include <tenon/shape.hpp>
#include <tenon/tensor.hpp>
#include <vector>

namespace tenon {

enum class Role : std::uint8_t { input, variable, state, constant, output };  ///< output: of a node

/// A value, or an output of the graph.
struct ValueInfo {
  std::string name;  ///< as Graph::find() takes it: `image`, `fc1`, `fc1:1`; of outputs of the graph, the output's
  Role role = Role::output;
  std::optional<DType> dtype{};  ///< nothing while it is not known
  Shape shape{};                 ///< what is known of it
  Storage storage = Storage::dense;
  std::string doc{};  ///< what the first operator that reads it says of that input or state; of a node's output, what its operator says
};

enum class NodeKind : std::uint8_t { forward, backward, recompute };

struct NodeInfo {
  std::string name, op;
  NodeKind kind = NodeKind::forward;
  std::string of{};                   ///< of other kinds: the node that it is the backward of, or computes again
  std::vector<std::string> inputs{};  ///< names of values in the operator's order; empty where an optional one is left out
  std::vector<std::string> states{};
  std::vector<std::string> outputs{};
  Attributes attributes{};  ///< all parameters, defaults written out
  std::string device{};     ///< that the graph names for it; empty: the session's
};

}  // namespace tenon

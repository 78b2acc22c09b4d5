// What a graph consists of, for applications that inspect one.
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
  std::string name;  ///< for Graph::find(): `image`, `fc1`, `fc1:1`; for an output of the graph, the output's name
  Role role = Role::output;
  std::optional<DType> dtype{};  ///< nothing if it is not known yet
  Shape shape{};                 ///< as far as it is known
  Storage storage = Storage::dense;
  std::string doc{};  ///< from the operator that returns it, or else from the first one that reads it
};

enum class NodeKind : std::uint8_t { forward, backward, recompute };

struct NodeInfo {
  std::string name, op;
  NodeKind kind = NodeKind::forward;
  std::string of{};                   ///< for the other kinds: the forward node that it differentiates or recomputes
  std::vector<std::string> inputs{};  ///< names of values in the operator's order; empty if an optional one is omitted
  std::vector<std::string> states{};
  std::vector<std::string> outputs{};
  Attributes attributes{};  ///< all parameters, defaults written out
  std::string device{};     ///< the node's own device; empty: the session's
};

}  // namespace tenon

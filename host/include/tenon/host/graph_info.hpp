// The contents of a graph, for applications that inspect one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tenon/dtype.hpp>
#include <tenon/host/api.hpp>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/tensor.hpp>
#include <tenon/shape.hpp>
#include <vector>

namespace tenon {

enum class Role : std::uint8_t { input, variable, state, constant, output };  ///< output: of a node

/// A value, or an output of the graph.
struct ValueInfo {
  std::string name;  ///< for Graph::find(): `image`, `fc1`, `fc1:1`; for an output of the graph,
                     ///< the output's name
  Role role = Role::output;
  std::optional<DType> dtype{};  ///< nothing if it is not known yet
  Shape shape{};                 ///< as far as it is known
  Storage storage = Storage::dense;
  std::string doc{};  ///< from the operator that returns it, else from the first one that reads it
  std::string value{};  ///< for an output of the graph: the name of the returned value
  std::vector<std::string>
      dim_names{};  ///< of an input: for each dimension, mostly empty; equal names mean equal sizes
  /// of a categorical value: the names that its elements are indices of; see Categories
  std::vector<std::string> categories{};
  // Only for outputs of forward nodes, from Graph::info():
  /// the operator's name of the output, `y`; numbered if the operator has several of that name,
  /// `parts0`
  std::string output{};
  bool hidden = false;  ///< whether only backward reads it
};

/// The graph's name for `name`: the same name, or the one it was changed to because names in
/// graphs have no colons or control characters, such as "x_0" for an ONNX model's "x:0". `changed`:
/// the graph's changed_names(). Empty unless exactly one name matches.
TENON_API std::string name_in_graph(const std::vector<std::string>& names, const std::string& name,
                                    const std::map<std::string, std::string>& changed = {});
[[deprecated("use name_in_graph(); until 0.4")]] inline std::string own_name(
    const std::vector<std::string>& names, const std::string& name,
    const std::map<std::string, std::string>& changed = {}) {
  return name_in_graph(names, name, changed);
}

/// Storage, dtype and shape as text: `float32 [2, ?]`, `float32 [N, 3]`, `csr float32 [2, 3]`;
/// unknown parts are ? or [...].
TENON_API std::string type_text(const ValueInfo& value);

enum class NodeKind : std::uint8_t { forward, backward, recompute };

struct NodeInfo {
  /// op: the short name, or `acme.rope` if the graph uses two operators of that name
  std::string name, op;
  NodeKind kind = NodeKind::forward;
  std::string of{};  ///< for the other kinds: the forward node that it differentiates or recomputes
  std::vector<std::string>
      inputs{};  ///< names of values in the operator's order; empty for an omitted optional input
  std::vector<std::string> states{};
  std::vector<std::string> outputs{};
  Attributes attributes{};  ///< all parameters, including defaults
  std::string device{};     ///< the node's own device; empty: the session's
};

/// An operator used by nodes, and the plugin that it came from when the graph was built.
struct UsedOperator {
  std::string name;   ///< the short name
  std::string space;  ///< the part of the full name before the dot; empty in files older than 0.2
  int version = 1;
  std::string plugin{}, plugin_version{};  ///< empty: the application's own, or the host's
  std::string full_name() const { return space.empty() ? name : space + '.' + name; }
};

/// The training progress stored in a checkpoint.
struct TrainingInfo {
  std::string optimizer;    ///< the operator's full name
  Attributes parameters{};  ///< of the optimizer
  std::uint64_t step = 0, epoch = 0, seed = 0;
  std::uint64_t examples = 0;  ///< examples of this epoch that have been used
  std::size_t slots = 0;       ///< tensors that the optimizer stores for the variables
};

}  // namespace tenon

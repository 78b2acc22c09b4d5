// What a graph consists of, for applications that inspect one.
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
  std::string name;  ///< for Graph::find(): `image`, `fc1`, `fc1:1`; for an output of the graph, the output's name
  Role role = Role::output;
  std::optional<DType> dtype{};  ///< nothing if it is not known yet
  Shape shape{};                 ///< as far as it is known
  Storage storage = Storage::dense;
  std::string doc{};                     ///< from the operator that returns it, or else from the first one that reads it
  std::string value{};                   ///< for an output of the graph: the name of the value that it returns
  std::vector<std::string> dim_names{};  ///< of an input: for each dimension, mostly empty; equal names mean equal sizes
  // For an output of a forward node, from Graph::info():
  std::string output{};  ///< its operator's name of it, `y`; numbered where the operator has several of that name, `parts0`
  bool hidden = false;   ///< whether only backward reads it
};

/// The one of a graph's names that `given` means: the same one, or the one that it got because graphs have no names with colons or control
/// characters, as the "x_0" of an ONNX model's "x:0". `changed`: the graph's changed_names(). Empty unless exactly one matches.
TENON_API std::string own_name(const std::vector<std::string>& names, const std::string& given,
                               const std::map<std::string, std::string>& changed = {});

/// Storage, dtype and shape as text: `float32 [2, ?]`, `float32 [N, 3]`, `csr float32 [2, 3]`; what is not known is ? or [...].
TENON_API std::string type_text(const ValueInfo& value);

enum class NodeKind : std::uint8_t { forward, backward, recompute };

struct NodeInfo {
  std::string name, op;  ///< op: the short name, or `acme.rope` in a graph with two operators of that name
  NodeKind kind = NodeKind::forward;
  std::string of{};                   ///< for the other kinds: the forward node that it differentiates or recomputes
  std::vector<std::string> inputs{};  ///< names of values in the operator's order; empty if an optional one is omitted
  std::vector<std::string> states{};
  std::vector<std::string> outputs{};
  Attributes attributes{};  ///< all parameters, defaults written out
  std::string device{};     ///< the node's own device; empty: the session's
};

/// An operator that nodes use, and the plugin that it came from when the graph was made.
struct UsedOperator {
  std::string name;   ///< the short one
  std::string space;  ///< what stands before the dot of the full name; empty in files of before 0.2
  int version = 1;
  std::string plugin{}, plugin_version{};  ///< empty: the application's own, or the host's
  std::string full_name() const { return space.empty() ? name : space + '.' + name; }
};

/// Where the training stands whose checkpoint a graph is.
struct TrainingInfo {
  std::string optimizer;    ///< the operator's full name
  Attributes parameters{};  ///< of the optimizer
  std::uint64_t step = 0, epoch = 0, seed = 0;
  std::uint64_t examples = 0;  ///< of this epoch that have been used
  std::size_t slots = 0;       ///< tensors that the optimizer keeps for the variables
};

}  // namespace tenon

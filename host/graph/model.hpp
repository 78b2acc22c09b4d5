// A graph as plain data: flat arrays that refer to each other by index. Needs no plugins; binding
// does.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tenon/host/attribute_map.hpp>
#include <tenon/host/catalog.hpp>
#include <tenon/host/graph_info.hpp>
#include <tenon/host/init.hpp>
#include <tenon/host/operator_info.hpp>
#include <tenon/host/tensor.hpp>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/inference/type.hpp"
#include "graph/name_table.hpp"
#include "graph/strings.hpp"
#include "tensor/read_constants.hpp"

namespace tenon {

using NodeId = std::uint32_t;
using ValueId = std::uint32_t;
inline constexpr std::uint32_t none = 0xffffffff;  // no node, no value, or an unconnected input

/// A value of the graph.
struct ValueRecord {
  // inputs, variables, states, constants; node outputs are labelled node, node:1 ... unless a plan
  // names them
  StringId name = 0;
  Role role = Role::output;
  bool updated = false;             // whether GraphModel::updates has an entry for this variable
  tenon_type type{};                // declared or inferred so far
  NodeId producer = none;           // node outputs only
  std::uint32_t index = 0;          // which output of the producer
  std::uint32_t tensor = none;      // into GraphModel::tensors
  std::uint32_t dims = none;        // inputs only: into GraphModel::dim_names
  std::uint32_t categories = none;  // into GraphModel::categories
  Init init;                        // variables only
};

/// The computation of a node.
enum class Pass : std::uint8_t {
  forward,
  // backward of node `origin`. Inputs: origin's output gradients (none: zero), inputs and outputs
  // (none: not read). Outputs: gradients of origin's inputs. Parameters and states are origin's.
  backward,
  recompute  // recomputes node `origin` with its random numbers, so its outputs need not be saved
};

/// Ranges are [first, first + count) in the model's arrays.
struct NodeRecord {
  StringId name = 0;
  std::uint32_t op = none;  // into GraphModel::operators
  Pass pass = Pass::forward;
  NodeId origin = none;  // an earlier forward node; backward and recompute only
  std::uint32_t first_edge =
      0;  // into edges: the inputs in the operator's order (none: not connected), then the states
  std::uint32_t input_count = 0, state_count = 0;
  std::uint32_t first_output = 0;  // into values: a node's outputs are contiguous
  std::uint32_t output_count = 0;
  std::uint32_t first_attribute = 0, attribute_count = 0;
  StringId device = 0;  // empty: the session's device
};

/// One typed parameter; `kind` (enum tenon_attribute_kind) determines which fields are used.
struct AttributeRecord {
  StringId name = 0;
  std::uint32_t kind = 0;
  std::int64_t i = 0;  // bool, int; text: its StringId; texts: StringId of joined_texts()
  double f = 0;
  std::uint32_t first = 0, count = 0;  // into ints or floats; tensor: only `first`, into tables
};

struct PluginUse {
  std::string name, version;
  std::uint32_t abi_minor = 0;
  std::uint64_t content_hash = 0;
};

/// An operator as recorded in the graph: enough to show, edit and save nodes whose plugin is not
/// installed.
struct OperatorUse {
  std::string
      name;  // short name; the space is in `info`, and empty in files older than 0.2 until bound
  int version = 1;
  std::shared_ptr<const OperatorInfo> info;  // decoded from its manifest, whose bytes it owns
  // into GraphModel::plugins; none: defined by the application
  std::uint32_t plugin = none;
};

/// A node of the original graph that does not appear in the optimized graph.
struct ReplacedNode {
  StringId name = 0;
  StringId replaced_by = 0;  // a phrase that describes the replacement
};

/// Opaque data that another program stores in the graph's file.
struct Extension {
  std::string name;
  std::vector<std::byte> content;
};

/// Optimizer state of a variable, such as a moment.
struct TrainingSlot {
  std::string name;
  ValueId variable = none;
  std::uint32_t tensor = none;  // into GraphModel::tensors, not shared
};

/// Training progress, sufficient to resume training exactly.
struct TrainingRecord {
  std::string optimizer;  // the operator's full name; short name in files older than 0.2
  Attributes parameters;
  std::uint64_t step = 0, seed = 0, epoch = 0;
  std::uint64_t data_position = 0;  // examples of this epoch already processed
  std::uint64_t random_step = 0;    // step of random operators
  std::uint64_t micro_batches = 1;
  std::vector<TrainingSlot> slots;
  // name and value, such as batch and 64; other values on resume give a warning
  std::vector<std::pair<std::string, std::string>> settings;
};

struct GraphModel {
  std::string name = "main";
  Strings strings;
  std::vector<NodeRecord> nodes;  // topologically sorted: every node comes after its inputs
  std::vector<ValueRecord> values;
  std::vector<ValueId> edges;
  std::vector<AttributeRecord> attributes;
  std::vector<std::int64_t> ints;
  std::vector<double> floats;
  std::vector<Tensor> tables;  // tensor parameters; never modified
  std::vector<OperatorUse> operators;
  std::vector<PluginUse> plugins;
  std::vector<Tensor> tensors;
  std::vector<std::pair<StringId, ValueId>> outputs;  // by name, in declaration order
  std::unordered_set<StringId>
      output_names;             // names of outputs[0, size); extended lazily by output()
  std::vector<ValueId> inputs;  // in declaration order
  std::vector<std::pair<ValueId, ValueId>>
      updates;  // (variable, its new value at the end of a training run)
  /// Names of inputs' dimensions, empty for unnamed ones. In a run, equal names mean equal sizes.
  std::vector<std::vector<StringId>> dim_names;
  /// Names of categorical values: an element i of the value means the i-th name, -1 an unknown one.
  std::vector<std::vector<StringId>> categories;
  NameTable node_names;   // also enforces uniqueness
  NameTable value_names;  // inputs, variables, states and constants
  std::string producer;   // program that first wrote the file; empty for new graphs
  std::vector<std::pair<StringId, StringId>> meta;  // free-form notes: key, text
  std::vector<Extension> extensions;
  std::optional<TrainingRecord> training;  // checkpoints only; ignored by runs
  /// Constants whose elements determined types. Not stored in files.
  ReadConstants inferred_from;
  /// Types as declared, of inputs, variables and states about which inference learned more.
  std::map<ValueId, tenon_type> declared_types;
  /// Factories of forward nodes that copy an object of the application, by node. Not stored in
  /// files.
  std::unordered_map<NodeId, std::shared_ptr<const OperatorFactory>> objects;
  // Set only in graphs that a session optimized; not stored in files.
  std::unordered_map<NodeId, std::vector<StringId>>
      rewritten_from;  // names of the nodes that a node replaces
  std::vector<ReplacedNode> replaced_nodes;
  std::unordered_map<ValueId, ValueId>
      redirected;  // values of the original graph -> values that are read instead

  void clear_outputs() { outputs.clear(), output_names.clear(); }
  /// Requires that the variable has no update yet.
  void add_update(ValueId variable, ValueId value) {
    updates.emplace_back(variable, value);
    values[variable].updated = true;
  }
};

/// Returns the factory of the node, or of its origin; null if the operator creates the object.
const OperatorFactory* object_factory(const GraphModel& model, NodeId node);

/// Records that the node runs on copies of an object of this class, which has members that files do
/// not store.
void note_unsaved_members(GraphModel& model, NodeId node, const std::string& class_name);
/// For a graph that was read from a file: one sentence for each node whose object had members that
/// the file does not store.
std::vector<std::string> unsaved_members(const GraphModel& model);

/// Returns the node that defines inputs and outputs: the node itself, or the origin of a backward
/// node.
const NodeRecord& forward_of(const GraphModel& model, const NodeRecord& node);

/// Returns the types of all values as known before inputs are bound.
std::vector<tenon_type> declared_types(const GraphModel& model);

/// `rope`, or `acme.rope` if two operators of the graph have that short name.
std::string operator_label(const GraphModel& model, std::uint32_t op);

/// The computation of a node: `quadratic`, `quadratic backward`.
std::string work_label(const GraphModel& model, const NodeRecord& node);

/// The label of a value: `fc1`, `fc1:1`, `image`.
std::string value_label(const GraphModel& model, ValueId value);

/// Whether a node, input, variable, state or constant has this name: they share one namespace.
bool is_named(const GraphModel& model, std::string_view name);
/// Returns `preferred`, or `preferred_1` ... if it is taken.
std::string free_name(const GraphModel& model, std::string_view preferred);
/// Amortized variant: `last` caches the last suffix used for this `preferred`; initially 0.
std::string free_name(const GraphModel& model, std::string_view preferred, std::uint64_t& last);

/// Returns the input of this name, or none.
ValueId find_input(const GraphModel& model, std::string_view name);

/// Resolves `node`, `node:1`, `node:mask`, or the name of an input, variable, state or constant.
/// Throws Failure (usage) with similar names.
ValueId find_value(const GraphModel& model, std::string_view text);

}  // namespace tenon

// A graph as plain data: flat arrays that index each other. It needs no plugin; binding it does.
#pragma once
#include <tenon/abi.h>

#include <cstdint>
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

#include "graph/name_table.hpp"
#include "graph/strings.hpp"
#include "graph/type.hpp"

namespace tenon {

using NodeId = std::uint32_t;
using ValueId = std::uint32_t;
inline constexpr std::uint32_t none = 0xffffffff;  // no node, no value, an input that is not connected

/// An edge of the graph.
struct ValueRecord {
  StringId name = 0;  // of inputs, variables, states, constants; node outputs are called node, node:1 ..., but for a plan's own
  Role role = Role::output;
  bool updated = false;         // a variable that GraphModel::updates has
  tenon_type type{};            // what is declared or inferred so far
  NodeId producer = none;       // of node outputs
  std::uint32_t index = 0;      // which output of the producer
  std::uint32_t tensor = none;  // into GraphModel::tensors
  std::uint32_t dims = none;    // of inputs: into GraphModel::dim_names
  Init init;                    // of variables
};

/// What a node does with its operator.
enum class Pass : std::uint8_t {
  forward,
  backward,  // of node `origin`: its inputs are origin's output gradients (none: zero), inputs and outputs (none: not read), its outputs
             // the gradients of origin's inputs; the parameters and states are origin's
  recompute  // computes node `origin` once more, with its random numbers, so that its outputs need not be kept
};

/// Ranges are [first, first + count) in the model's arrays.
struct NodeRecord {
  StringId name = 0;
  std::uint32_t op = none;  // into GraphModel::operators
  Pass pass = Pass::forward;
  NodeId origin = none;          // an earlier forward node; of the other passes
  std::uint32_t first_edge = 0;  // into edges: the inputs in the operator's order (none: not connected), then the states
  std::uint32_t input_count = 0, state_count = 0;
  std::uint32_t first_output = 0;  // into values: a node's outputs stand together
  std::uint32_t output_count = 0;
  std::uint32_t first_attribute = 0, attribute_count = 0;
  StringId device = 0;  // empty: the session's
};

/// One typed parameter; which fields count is told by kind (enum tenon_attribute_kind).
struct AttributeRecord {
  StringId name = 0;
  std::uint32_t kind = 0;
  std::int64_t i = 0;  // bool, int; text: its StringId; texts: that of joined_texts()
  double f = 0;
  std::uint32_t first = 0, count = 0;  // into ints or floats; tensor: first alone, into tables
};

struct PluginUse {
  std::string name, version;
  std::uint32_t abi_minor = 0;
  std::uint64_t content_hash = 0;
};

/// An operator as the graph knows it: enough to show, edit and save nodes whose plugin is not here.
struct OperatorUse {
  std::string name;  // the short one; the space is the description's, empty in files of before 0.2 until it is bound
  int version = 1;
  std::shared_ptr<const OperatorInfo> info;  // decoded from its manifest, whose bytes it keeps
  std::uint32_t plugin = none;               // into GraphModel::plugins; none: the application's own
};

/// A node of the graph as written that no longer runs under its own name.
struct ReplacedNode {
  StringId name = 0;
  StringId how = 0;  // a phrase: what became of it
};

/// What another program keeps in the graph's file; nobody here looks into it.
struct Extension {
  std::string name;
  std::vector<std::byte> content;
};

/// What an optimizer keeps for a variable: a state of its operator.
struct TrainingSlot {
  std::string name;
  ValueId variable = none;
  std::uint32_t tensor = none;  // into GraphModel::tensors, where nothing else uses it
};

/// Where a training stands, so that it can go on as if it had never stopped.
struct TrainingRecord {
  std::string optimizer;  // the operator's full name; short in files of before 0.2
  Attributes parameters;
  std::uint64_t step = 0, seed = 0, epoch = 0;
  std::uint64_t data_position = 0;  // examples of this epoch that were seen
  std::uint64_t random_step = 0;    // of random operators
  std::uint64_t lanes = 1;
  std::vector<TrainingSlot> slots;
  std::vector<std::pair<std::string, std::string>> settings;  // name and value: batch and 64. Going on with others gives a warning
};

struct GraphModel {
  std::string name = "main";
  Strings strings;
  std::vector<NodeRecord> nodes;  // in an order in which every node comes after what it reads
  std::vector<ValueRecord> values;
  std::vector<ValueId> edges;
  std::vector<AttributeRecord> attributes;
  std::vector<std::int64_t> ints;
  std::vector<double> floats;
  std::vector<Tensor> tables;  // parameters that are tensors; nobody changes their elements
  std::vector<OperatorUse> operators;
  std::vector<PluginUse> plugins;
  std::vector<Tensor> tensors;
  std::vector<std::pair<StringId, ValueId>> outputs;  // by name, in the order given
  std::unordered_set<StringId> output_names;          // of the first so many outputs as there are names: for those who add one
  std::vector<ValueId> inputs;                        // in the order given
  std::vector<std::pair<ValueId, ValueId>> updates;   // (variable, the value it takes at the end of a run in training)
  /// Of inputs' dimensions, a text for each, empty where it has none. In a run, equal names mean equal sizes.
  std::vector<std::vector<StringId>> dim_names;
  NameTable node_names;                             // also guards uniqueness
  NameTable value_names;                            // of inputs, variables, states and constants
  std::string producer;                             // who first wrote the file it came from; empty: this program will
  std::vector<std::pair<StringId, StringId>> meta;  // free notes: key, text
  std::vector<Extension> extensions;
  std::optional<TrainingRecord> training;  // of checkpoints; running ignores it
  /// Makes the objects of a forward node that copies an object of the application, by its id. Files do not hold it.
  std::unordered_map<NodeId, std::shared_ptr<const OperatorFactory>> objects;
  // Of graphs that a session rewrote; no file holds them.
  std::unordered_map<NodeId, std::vector<StringId>> stands_for;  // of nodes that stand for several: the names of those
  std::vector<ReplacedNode> replaced;
  std::unordered_map<ValueId, ValueId> redirected;  // values of the original graph, and those that are read in place of them

  void clear_outputs() { outputs.clear(), output_names.clear(); }
  /// Of a variable that has none yet.
  void add_update(ValueId variable, ValueId value) {
    updates.emplace_back(variable, value);
    values[variable].updated = true;
  }
};

/// Makes the node's objects, or its origin's; null: the operator does.
const OperatorFactory* object_factory(const GraphModel& model, NodeId node);

/// Notes that the node runs on copies of an object of that class, which hold more than the parameters that files have.
void note_lost_members(GraphModel& model, NodeId node, const std::string& class_name);
/// What a graph that comes from a file has lost of such objects: a sentence for each node.
std::vector<std::string> lost_members(const GraphModel& model);

/// Where a node's inputs and outputs come from: itself, or of a backward node its origin.
const NodeRecord& forward_of(const GraphModel& model, const NodeRecord& node);

/// What is known of each value's type before inputs are given.
std::vector<tenon_type> declared_types(const GraphModel& model);

/// `rope`, or `acme.rope` in a graph with two of that name.
std::string operator_label(const GraphModel& model, std::uint32_t op);

/// `quadratic`, `quadratic backward`: what a node computes.
std::string work_label(const GraphModel& model, const NodeRecord& node);

/// `fc1`, `fc1:1`, `image`.
std::string value_label(const GraphModel& model, ValueId value);

/// Whether a node, input, variable, state or constant has this name: they share one space of names.
bool is_named(const GraphModel& model, std::string_view name);
/// `wanted`, or `wanted_1` ... where that is taken.
std::string free_name(const GraphModel& model, std::string_view wanted);
/// The same for one who asks again and again: `last` is the number that was given last for this `wanted`; 0 at first.
std::string free_name(const GraphModel& model, std::string_view wanted, std::uint64_t& last);

/// The input of this name; none where there is none.
ValueId find_input(const GraphModel& model, std::string_view name);

/// `node`, `node:1`, `node:mask`, or the name of an input, variable, state or constant. Throws Failure (usage) with near names.
ValueId find_value(const GraphModel& model, std::string_view text);

}  // namespace tenon

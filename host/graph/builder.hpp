// Adds values and nodes to a graph, each checked when it is added.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <tenon/host/attribute_map.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/binding.hpp"
#include "graph/model.hpp"

namespace tenon {

/// What a node is made from. Inputs by position or by name; weights that are `none` or left out become variables (see Graph::add).
struct NodeSpec {
  std::string_view op, name;  // an empty name is made up: op, op_1 ...
  std::vector<ValueId> inputs;
  std::vector<std::pair<std::string, ValueId>> named_inputs;
  const Attributes& attributes;
  std::string_view device = {};
  std::string_view home = {};                               // the space in which op is looked up first
  bool own_weights = true;                                  // false: a weight that is left out is an error, too
  std::shared_ptr<const OperatorFactory> object = nullptr;  // makes the node's objects instead of the operator
  const LoadedOperator* loaded = nullptr;                   // op, where the caller has it; else it is looked up
};

/// Threads: one at a time. After a Failure the graph is as it was.
class GraphBuilder {
 public:
  GraphBuilder(GraphModel& model, Binding& binding, PluginSet& plugins) : model_(model), binding_(binding), plugins_(plugins) {}

  ValueId input(std::string_view name, const tenon_type& type);
  /// A name for each dimension, empty where it has none; equal names mean equal sizes. Placeholders such as "?" are dropped. Throws
  /// Failure (usage).
  void name_dims(ValueId input, const std::vector<std::string>& names);
  /// A variable or state that gets its values later. A node that leaves out the input or state of this name (node_input) takes it.
  ValueId unset(std::string_view name, Role role, const tenon_type& type, const Init& init = {});
  /// A variable, state or constant with elements.
  ValueId tensor(std::string_view name, Role role, const Tensor& tensor);
  NodeId node(const NodeSpec& spec);
  /// The backward of a forward node (see Pass::backward); an edge for each of its output gradients, inputs and outputs, those that are
  /// left out at the end none. An empty name is made up. Throws Failure (usage).
  NodeId backward(NodeId forward, const std::vector<ValueId>& edges, std::string_view name = {});
  /// A forward node of the same operator as another one, with its parameters but for those that are changed, on other inputs. Throws
  /// Failure (usage).
  NodeId another(NodeId forward, const std::vector<ValueId>& inputs, std::string_view name, const Attributes& changed = {},
                 std::string_view device = {});
  /// A second computation of a forward node without states from these inputs.
  NodeId recompute(NodeId forward, const std::vector<ValueId>& inputs, std::string_view name = {});
  /// Throws Failure (usage) for a node of which there can be no second computation.
  void require_repeatable(NodeId node) const;
  void output(std::string_view name, ValueId value);

  /// In training, `variable` takes the value at the end of each run.
  void update(ValueId variable, ValueId value);

  /// Infers over the whole graph and adds the variables that operators still want. Throws Failure (file) where a file says of a node's
  /// output what its operator contradicts; types and binding are then as they were.
  void complete();

  /// Where the graph goes back to when something fails that adds several nodes.
  struct Mark {
    std::size_t nodes, values, edges, attributes, ints, floats, tables, operators;
  };
  Mark mark() const;
  void roll_back(const Mark& mark);

  const GraphModel& model() const { return model_; }
  const Binding& binding() const { return binding_; }
  PluginSet& plugins() const { return plugins_; }

 private:
  ValueId add_value(std::string_view name, Role role, const tenon_type& type);
  void check_name(std::string_view name) const;
  std::string own_name(const NodeRecord& node, const std::string& part) const;
  ValueId own_value(const NodeRecord& node, const std::string& part, Role role, const tenon_type& type);
  StringId node_name(const NodeSpec& spec);
  void connect(NodeRecord& node, const LoadedOperator& op, const std::vector<ValueId>& inputs, bool own_weights);
  ValueId own_weight(const NodeRecord& node, const LoadedOperator& op, const InputInfo& input, const tenon_type& type);
  void add_wanted(const std::vector<std::pair<std::uint32_t, tenon_type>>& wanted, NodeId first_node);
  NodeRecord made_from(NodeId forward, Pass pass, std::string_view name);
  void add_edges(NodeRecord& node, const std::vector<ValueId>& inputs, std::size_t count);
  void add_outputs(NodeRecord& node, std::uint32_t count);
  NodeId finish(NodeRecord& node, const Mark& before);
  void complete_loaded();
  void infer_all();
  void require_as_said(ValueId value, tenon_type said) const;

  GraphModel& model_;
  Binding& binding_;
  PluginSet& plugins_;
  std::unordered_map<std::string, std::uint64_t> last_numbers_;  // of names that nodes got from their operators
};

}  // namespace tenon

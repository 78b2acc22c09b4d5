// Adds values and nodes to a graph and checks each when it is added.
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

class Inference;

/// Describes a node to add. Inputs by position or by name; weights that are `none` or left out
/// become implicit variables (see Graph::add).
struct NodeSpec {
  std::string_view op, name;  // an empty name is generated: op, op_1 ...
  std::vector<ValueId> inputs;
  std::vector<std::pair<std::string, ValueId>> named_inputs;
  const Attributes& attributes;
  std::string_view device = {};
  std::string_view home = {};      // the space that is searched first for op
  bool implicit_variables = true;  // false: a missing weight is an error
  // creates the node's objects instead of the operator
  std::shared_ptr<const OperatorFactory> object = nullptr;
  const LoadedOperator* loaded = nullptr;  // op, if the caller has already looked it up
};

/// Not thread-safe. After a Failure the graph is unchanged.
class GraphBuilder {
 public:
  GraphBuilder(GraphModel& model, Binding& binding, PluginSet& plugins)
      : model_(model), binding_(binding), plugins_(plugins) {}

  ValueId input(std::string_view name, const tenon_type& type);
  /// Names the dimensions of an input, one name each, empty for unnamed ones; equal names mean
  /// equal sizes. Placeholders such as "?" are dropped. Throws Failure (usage).
  void name_dims(ValueId input, const std::vector<std::string>& names);
  /// Makes the value categorical: its elements are indices into these names. Without names, they
  /// are numbers again. Throws Failure (usage).
  void name_categories(ValueId value, const std::vector<std::string>& names);
  /// Adds a variable or state without values yet. A node whose unconnected input or state has this
  /// name (NODE_INPUT) uses it.
  ValueId unset(std::string_view name, Role role, const tenon_type& type, const Init& init = {});
  /// Adds a variable, state or constant with values.
  ValueId tensor(std::string_view name, Role role, const Tensor& tensor);
  NodeId node(const NodeSpec& spec);
  /// Adds the backward of a forward node (see Pass::backward). `edges`: its output gradients,
  /// inputs and outputs; missing trailing ones are `none`. An empty name is generated. Throws
  /// Failure (usage).
  NodeId backward(NodeId forward, const std::vector<ValueId>& edges, std::string_view name = {});
  /// Adds a forward node with the operator and parameters of `forward`, except for `changed`, on
  /// other inputs. Throws Failure (usage).
  NodeId copy_node(NodeId forward, const std::vector<ValueId>& inputs, std::string_view name,
                   const Attributes& changed = {}, std::string_view device = {});
  /// Adds a recomputation of a stateless forward node from these inputs.
  NodeId recompute(NodeId forward, const std::vector<ValueId>& inputs, std::string_view name = {});
  /// Throws Failure (usage) if the node cannot be recomputed.
  void require_repeatable(NodeId node) const;
  void output(std::string_view name, ValueId value);

  /// In training, `variable` is set to `value` at the end of each run.
  void update(ValueId variable, ValueId value);

  /// Infers the types of the whole graph and adds the implicit variables that operators require.
  /// Throws Failure (file) if the file's type of a node output contradicts its operator; types and
  /// binding are then unchanged.
  void complete();

  /// A point to roll back to if adding several nodes fails.
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
  std::string implicit_name(const NodeRecord& node, const std::string& suffix) const;
  ValueId find_or_add_value(const NodeRecord& node, const std::string& suffix, Role role,
                            const tenon_type& type);
  StringId node_name(const NodeSpec& spec);
  void connect(NodeRecord& node, const LoadedOperator& op, const std::vector<ValueId>& inputs,
               bool implicit_variables);
  ValueId implicit_variable(const NodeRecord& node, const LoadedOperator& op,
                            const InputInfo& input, const tenon_type& type);
  void add_implicit_variables(const std::vector<std::pair<std::uint32_t, tenon_type>>& variables,
                              NodeId first_node);
  NodeRecord derived_record(NodeId forward, Pass pass, std::string_view name);
  void add_edges(NodeRecord& node, const std::vector<ValueId>& inputs, std::size_t count);
  void add_outputs(NodeRecord& node, std::uint32_t count);
  NodeId finish(NodeRecord& node, const Mark& before);
  void complete_loaded();
  void infer_all();
  void note(const Inference& inference);
  void require_declared_type(ValueId value, tenon_type declared) const;

  GraphModel& model_;
  Binding& binding_;
  PluginSet& plugins_;
  std::unordered_map<std::string, std::uint64_t>
      last_numbers_;  // the last number used for each generated name
};

}  // namespace tenon

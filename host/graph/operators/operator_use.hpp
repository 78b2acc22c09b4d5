// A graph's records of the operators that it uses.
#pragma once
#include "graph/binding.hpp"
#include "graph/model.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon {

/// Limit that catches errors and malicious files: outputs of one node.
inline constexpr std::int64_t max_outputs = 4096;

/// Returns the model's record for this operator; adds one if there is none with its name and
/// description.
std::uint32_t use_operator(GraphModel& model, Binding& binding, PluginSet& plugins,
                           const LoadedOperator& op);

/// Whether a record's description equals the operator's.
bool describes(const OperatorUse& use, const LoadedOperator& op);

/// Updates a record to the installed operator, after its nodes were upgraded.
void refresh(GraphModel& model, OperatorUse& use, PluginSet& plugins,
             std::shared_ptr<const OperatorInfo> info, int file);

/// Returns the number of outputs of a declared output, depending on the node's parameters.
/// Throws Failure (usage).
std::uint32_t count_of(const GraphModel& model, const NodeRecord& node, const OutputInfo& output);
/// Returns the number of outputs of a node with its current parameters. Throws Failure (usage).
std::uint32_t output_count(const GraphModel& model, const NodeRecord& node,
                           const OperatorInfo& info);

/// Returns the number of inputs of a node to which `count` inputs are passed: all declared ones,
/// plus the tensors of a variadic one. Throws Failure (usage) if there are too many.
std::size_t input_count(const OperatorInfo& info, std::size_t count);

using NamedValues = std::vector<std::pair<std::string, ValueId>>;
/// Returns one entry for each input of the operator, more for a variadic one; none for unconnected
/// inputs. Throws Failure (usage).
std::vector<ValueId> order_inputs(const OperatorInfo& info, std::vector<ValueId> by_position,
                                  const NamedValues& named);

/// Whether this text parameter holds a graph in graph.json format, as in tenon.if, while, scan,
/// branch and loop.
bool is_graph_parameter(std::string_view op, std::string_view param);

/// Throws Failure (file) if the numbers of inputs, states and outputs differ from the operator's;
/// (usage) like output_count.
void check_arity(const GraphModel& model, const NodeRecord& node, const OperatorInfo& info);
/// Throws Failure (file) if a backward node does not match its origin.
void check_backward_arity(const GraphModel& model, const NodeRecord& node);

}  // namespace tenon

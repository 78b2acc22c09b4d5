// What a graph records of the operators it uses.
#pragma once
#include "graph/binding.hpp"
#include "graph/model.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon {

/// More outputs than this from one node is an error or an attack.
inline constexpr std::int64_t max_outputs = 4096;

/// The model's record of an operator that is bound to that one; added if it has none of that name and description.
std::uint32_t use_operator(GraphModel& model, Binding& binding, PluginSet& plugins, const LoadedOperator& op);

/// Whether a record's description is the operator's.
bool describes(const OperatorUse& use, const LoadedOperator& op);

/// Makes a record describe the operator that is here now, after nodes were brought up to date.
void refresh(GraphModel& model, OperatorUse& use, PluginSet& plugins, std::shared_ptr<const OperatorInfo> info, int file);

/// How many outputs of this name a node has with its parameters. Throws Failure (usage).
std::uint32_t count_of(const GraphModel& model, const NodeRecord& node, const OutputInfo& output);
/// Outputs of a node with the parameters it has. Throws Failure (usage).
std::uint32_t output_count(const GraphModel& model, const NodeRecord& node, const OperatorInfo& info);

/// How many inputs a node has that is given that many: each declared one, and of a variadic one as many as there are. Throws Failure
/// (usage) if too many are given.
std::size_t input_count(const OperatorInfo& info, std::size_t given);

using NamedValues = std::vector<std::pair<std::string, ValueId>>;
/// One entry for each input of the operator, more for a variadic one; none where nothing is connected. Throws Failure (usage).
std::vector<ValueId> place_inputs(const OperatorInfo& info, std::vector<ValueId> by_position, const NamedValues& named);

/// Whether the text of this parameter is a graph, as graph.json writes them: of tenon.if, while, scan, branch and loop.
bool is_graph_parameter(std::string_view op, std::string_view param);

/// Throws Failure (file) if the numbers of inputs, states and outputs are not the operator's; (usage) as output_count.
void check_arity(const GraphModel& model, const NodeRecord& node, const OperatorInfo& info);
/// Throws Failure (file) if a backward node does not fit the node whose backward it is.
void check_backward_arity(const GraphModel& model, const NodeRecord& node);

}  // namespace tenon

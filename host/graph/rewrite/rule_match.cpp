#include "graph/rewrite/rule_match.hpp"

#include "graph/parameters.hpp"

namespace tenon {

// Fast rejection of most nodes, without allocation: the producers of the root's inputs differ
// from those in the pattern.
bool RuleMatch::may_match(NodeId root) const {
  const auto& node = model_.nodes[root];
  const auto& indices = rule_.pattern.back().inputs;
  for (std::size_t i = 0; i < std::min<std::size_t>(indices.size(), node.input_count); ++i) {
    if (indices[i] < 0) continue;
    const auto& operand = rule_.rule.root().inputs[static_cast<std::size_t>(indices[i])].operand;
    if (!operand.call) continue;
    const auto value = model_.edges[node.first_edge + i];
    if (value == none || model_.values[value].producer == none ||
        (graph_.uses(value) != 1 && !may_share(operand.index)))
      return false;
    if (model_.operators[model_.nodes[model_.values[value].producer].op].name !=
        rule_.pattern[operand.index].op->name)
      return false;
  }
  return true;
}

bool RuleMatch::find(NodeId root) {
  if (!may_match(root)) return false;
  nodes_.assign(rule_.pattern.size(), none);
  values_.assign(rule_.rule.variables.size(), std::nullopt);
  captures_.assign(rule_.rule.captures.size(), std::nullopt);
  return match_call(rule_.pattern.size() - 1, root, false);
}

bool RuleMatch::match_call(std::size_t call, NodeId id, bool inner) {
  const auto& node = model_.nodes[id];
  const auto& op = *rule_.pattern[call].op;
  const auto& use = model_.operators[node.op];
  if (use.name != op.name || use.info->space != op.space || use.version != op.version ||
      !graph_.is_free(id))
    return false;
  if (inner && node.device != model_.nodes[nodes_.back()].device) return false;
  nodes_[call] = id;
  return match_results(node, inner && !may_share(call)) && match_params(call, node) &&
         match_states(call, node) && match_inputs(call, node);
}

// Only the first output of a matched call may be read, and that of an inner call only by the
// pattern, unless it stays for its other readers.
bool RuleMatch::match_results(const NodeRecord& node, bool sole_reader) const {
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    const auto value = node.first_output + i;
    const std::uint32_t max_uses = i > 0 ? 0 : sole_reader ? 1 : ~0u;
    if (graph_.uses(value) > max_uses || (max_uses <= 1 && graph_.is_output(value))) return false;
  }
  return true;
}

bool RuleMatch::match_params(std::size_t call, const NodeRecord& node) {
  const auto& pattern = rule_.rule.pattern[call];
  const auto& info = *rule_.pattern[call].op;
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto& record = model_.attributes[node.first_attribute + i];
    const auto param = info.find_param(model_.strings[record.name]);
    const int mentioned =
        param < 0 ? -1 : rule_.pattern[call].params[static_cast<std::size_t>(param)];
    if (mentioned >= 0) {
      if (!match_param(pattern.params[static_cast<std::size_t>(mentioned)],
                       value_of(model_, record)))
        return false;
    } else if (!pattern.rest) {
      if (param < 0 || !same_value(value_of(model_, record),
                                   info.params[static_cast<std::size_t>(param)].default_value))
        return false;
    }
  }
  return true;
}

bool RuleMatch::match_param(const RewriteRule::Param& param, const AttributeValue& value) {
  if (!param.capture) return same_value(param.value, value);
  auto& captured = captures_[*param.capture];
  if (captured) return same_value(*captured, value);
  captured = value;
  return true;
}

bool RuleMatch::match_states(std::size_t call, const NodeRecord& node) {
  const auto& indices = rule_.pattern[call].states;
  for (std::uint32_t i = 0; i < node.state_count; ++i) {
    const auto state = model_.edges[node.first_edge + node.input_count + i];
    if (i >= indices.size() || indices[i] < 0 || graph_.uses(state) != 1)
      return false;  // another node would still modify it
    if (!match_operand(
            rule_.rule.pattern[call].inputs[static_cast<std::size_t>(indices[i])].operand, state))
      return false;
  }
  return true;
}

bool RuleMatch::match_inputs(std::size_t call, const NodeRecord& node) {
  const auto& indices = rule_.pattern[call].inputs;
  for (std::size_t i = 0; i < std::max<std::size_t>(indices.size(), node.input_count); ++i) {
    const auto value = i < node.input_count ? model_.edges[node.first_edge + i] : none;
    // a state that a node reads without owning it changes in each run
    if (value != none && model_.values[value].role == Role::state) return false;
    if (i >= indices.size() || indices[i] < 0) {
      if (value != none) return false;
    } else if (!match_operand(
                   rule_.rule.pattern[call].inputs[static_cast<std::size_t>(indices[i])].operand,
                   value)) {
      return false;
    }
  }
  return true;
}

bool RuleMatch::match_operand(const RewriteRule::Operand& operand, ValueId value) {
  if (!operand.call) return match_variable(operand.index, value);
  if (value == none) return false;
  const auto& record = model_.values[value];
  return record.role == Role::output && record.producer != none && record.index == 0 &&
         match_call(operand.index, record.producer, true);
}

bool RuleMatch::match_variable(std::size_t variable, ValueId value) {
  const auto& declared = rule_.rule.variables[variable];
  auto& known = values_[variable];
  if (known && *known != value) return false;
  known = value;
  if (value == none) return declared.optional;
  if (declared.number) {
    // The replacement would lose dimensions that the number may add to the result.
    const auto& result = model_.values[model_.nodes[root()].first_output].type;
    return graph_.is_number(value, *declared.number) &&
           (result.rank >= 0 || model_.values[value].type.rank == 0);
  }
  if (declared.rank && model_.values[value].type.rank != *declared.rank) return false;
  return !declared.constant || graph_.is_constant(value) ||
         model_.values[value].role == Role::state;
}

Attributes RuleMatch::rest(const std::string& label) const {
  const auto& call = rule_.rule.rest_of(label);
  const auto at = static_cast<std::size_t>(&call - rule_.rule.pattern.data());
  const auto& info = *rule_.pattern[at].op;
  const auto& node = model_.nodes[nodes_[at]];
  Attributes all;
  for (std::uint32_t i = 0; i < node.attribute_count; ++i) {
    const auto& record = model_.attributes[node.first_attribute + i];
    const auto param = info.find_param(model_.strings[record.name]);
    if (param >= 0 && rule_.pattern[at].params[static_cast<std::size_t>(param)] < 0)
      all.set(info.params[static_cast<std::size_t>(param)].name, value_of(model_, record));
  }
  return all;
}

}  // namespace tenon

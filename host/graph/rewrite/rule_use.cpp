// Applies rewrite rules.
#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/failure.hpp>

#include "device/devices.hpp"
#include "graph/builder.hpp"
#include "graph/inference/inference.hpp"
#include "graph/kernel_set.hpp"
#include "graph/parameters.hpp"
#include "graph/rewrite/rule_match.hpp"
#include "plugin/operator_name.hpp"

namespace tenon {
namespace {

constexpr std::size_t longest_name = 160;

bool same_type(const tenon_type& left, const tenon_type& right) {
  return left.dtype == right.dtype && left.rank == right.rank &&
         std::equal(left.dims, left.dims + std::max<int>(left.rank, 0), right.dims);
}

// Whether only a run tells that the value is broadcast to the result.
bool may_broadcast(const tenon_type& value, const tenon_type& result) {
  bool may = false;
  for (int axis = 0; axis < value.rank && value.rank == result.rank; ++axis)
    may = may || (value.dims[axis] == 1 && result.dims[axis] == unknown);
  return may;
}

// Whether the node has an implicit variable, which would belong to no node of the original graph.
bool brings_variables(const GraphModel& model, NodeId id, std::size_t values_before) {
  const auto& node = model.nodes[id];
  for (std::uint32_t i = 0; i < node.input_count; ++i) {
    const auto value = model.edges[node.first_edge + i];
    if (value != none && value >= values_before && model.values[value].role == Role::variable)
      return true;
  }
  return false;
}

// Whether the device has a kernel of the node, for its types if they are known.
bool has_kernel(const GraphModel& model, NodeId id, const LoadedOperator& op,
                const Device& device) {
  std::vector<tenon_attribute> attributes;
  fill_attributes(model, model.nodes[id], attributes);
  CallTypes types;
  gather_types(model, model.nodes[id], types);
  if (std::any_of(types.inputs.begin(), types.inputs.end(), [](const tenon_type& type) {
        return type.present && type.dtype == TENON_DTYPE_UNKNOWN;
      }))
    return !op.candidates[device.type()].empty();
  const KernelSet kernels(op, device.type(), attributes, false);
  return kernels.find(*op.info, types) < kernels.size();
}

}  // namespace

/// The result of trying the rules at a node.
struct Rewriting::Applied {
  bool any = false;
  std::vector<NodeId> added;  // nodes that replace it, the root last; empty: an existing value does
};

// Applied rules may add operators, so the list grows with the model's.
const std::vector<std::size_t>& Rewriting::rules_at(NodeId id) {
  const auto op = model_->nodes[id].op;
  for (auto next = rules_of_.size(); next < model_->operators.size(); ++next) {
    auto& found = rules_of_.emplace_back();
    if (setting_.rules == nullptr) continue;
    for (const auto rule : setting_.rules->rooted_at(model_->operators[next].info->full_name())) {
      const auto& one = (*setting_.rules)[rule];
      if (files_.contains(one.file) && (setting_.optimize == Optimize::full || one.rule.exact))
        found.push_back(rule);
    }
  }
  return rules_of_[op];
}

bool Rewriting::matches_any(NodeId id) {
  const auto& rules = rules_at(id);
  return std::any_of(rules.begin(), rules.end(), [&](std::size_t rule) {
    return RuleMatch(*this, (*setting_.rules)[rule]).find(id);
  });
}

void Rewriting::apply_rules() {
  const auto count = static_cast<NodeId>(model_->nodes.size());
  if (setting_.rules == nullptr || setting_.rules->empty()) return;
  for (NodeId id = 0; id < count; ++id)
    for (std::vector<NodeId> left{id}; !left.empty();) {
      const auto at = left.back();
      left.pop_back();
      update_edges(at);
      if (removed_[at]) continue;
      const auto added = apply_at(at, id).added;
      left.insert(left.end(), added.rbegin(), added.rend());
    }
}

Rewriting::Applied Rewriting::apply_at(NodeId id, NodeId position) {
  Applied applied;
  const auto rules = rules_at(id);  // a copy: the list may grow
  for (const auto rule : rules) {
    if (const auto found = created_by_.find(id);
        found != created_by_.end() && found->second.contains(rule))
      continue;
    RuleMatch match(*this, (*setting_.rules)[rule]);
    if (match.find(id) && apply(rule, match, position, applied)) return applied;
  }
  return applied;
}

bool Rewriting::apply(std::size_t number, const RuleMatch& match, NodeId position,
                      Applied& applied) {
  const auto& rule = (*setting_.rules)[number];
  if (loses_broadcast(rule, match)) return false;
  auto& model = to_->model;
  const auto root = match.root();
  GraphBuilder builder(model, to_->binding, *setting_.plugins);
  const auto before = builder.mark();
  const auto tensors_before = model.tensors.size();
  std::vector<NodeId> added;
  ValueId result = none;
  try {
    result = build_replacement(rule, match, added);
  } catch (const Failure&) {
    result = none;  // its operators do not accept these types or parameters
  }
  if (result == none || !may_replace_root(root, result, !added.empty())) {
    builder.roll_back(before);
    model.tensors.resize(tensors_before);
    return false;
  }
  uses_.resize(model.values.size()), is_output_.resize(model.values.size()),
      constant_.resize(model.values.size());
  removed_.resize(model.nodes.size());
  for (auto value = before.values; value < model.values.size(); ++value)
    if (model.values[value].role == Role::constant) constant_[value] = true;
  auto& inserted = after_[position];  // new nodes take the place of a root that was inserted, too
  inserted.insert(std::find(inserted.begin(), inserted.end(), root), added.begin(), added.end());
  for (const auto id : added) {
    const auto& node = model.nodes[id];
    if (files_.insert(to_->binding.operators[node.op]->file).second)
      rules_of_.clear();  // rules of that plugin now apply as well
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (const auto value = model.edges[node.first_edge + i]; value != none) ++uses_[value];
    if (computes_constant(id)) mark_constant(id);
    created_by_[id] = created_by_[root];
    created_by_[id].insert(number);
  }
  const auto old = model.nodes[root].first_output;
  if (!added.empty()) {
    auto& names = model.rewritten_from[added.back()];
    for (const auto id : match.nodes()) {
      if (const auto several = model.rewritten_from.find(id); several != model.rewritten_from.end())
        names.insert(names.end(), several->second.begin(), several->second.end());
      else
        names.push_back(model.nodes[id].name);
    }
  }
  // Inner nodes of a pattern that is replaced by a value may have other readers, and then stay.
  for (auto id = match.nodes().rbegin(); id != match.nodes().rend(); ++id) {
    const auto made = model.nodes[*id].first_output;
    if (removed_[*id] || (*id != root && (uses_[made] > 0 || is_output_[made]))) continue;
    if (added.empty()) note(*id, fmt::format("equal to its input, by rule {}", rule.label));
    drop(*id);
  }
  redirect(old, result);
  applied.added = std::move(added);
  return applied.any = true;
}

// Whether an operand that the root may broadcast becomes an operand of another kind of operator,
// which would refuse it in a run that does; such a run would have to use the original graph.
bool Rewriting::loses_broadcast(const ResolvedRule& rule, const RuleMatch& match) const {
  const auto& root = model_->nodes[match.root()];
  if (!binding_->nodes[match.root()].info->elementwise) return false;
  const auto first = model_->edges.begin() + root.first_edge;
  const auto& result = model_->values[root.first_output].type;
  for (std::size_t call = 0; call < rule.replacement.size(); ++call) {
    const auto& inputs = rule.rule.replacement[call].inputs;
    if (rule.replacement[call].op->elementwise || inputs.size() < 2) continue;
    for (const auto& input : inputs) {
      const auto value = input.operand.call ? none : match.value(input.operand.index);
      if (value != none &&
          std::find(first, first + root.input_count, value) != first + root.input_count &&
          may_broadcast(model_->values[value].type, result))
        return true;
    }
  }
  return false;
}

// Adds the replacement after all other nodes; may leave some of them in the graph on failure.
ValueId Rewriting::build_replacement(const ResolvedRule& rule, const RuleMatch& match,
                                     std::vector<NodeId>& added) {
  auto& model = to_->model;
  GraphBuilder builder(model, to_->binding, *setting_.plugins);
  const auto& device_name = model.strings[model.nodes[match.root()].device];
  const std::string device(device_name);
  const auto& runs_on = device.empty() ? *setting_.device : find_device(device);
  const auto name = joined_name(match.nodes());
  std::vector<ValueId> results;
  const auto value_of_variable = [&](std::size_t variable) {
    const auto value = match.value(variable);
    if (value == none || model.values[value].role != Role::state) return value;
    // No remaining node modifies the state.
    const auto& tensor = (*setting_.tensors)[value];
    if (!tensor) throw Failure(FailureKind::failed, "a state has no elements yet");
    return builder.tensor(free_name(model, value_label(model, value) + ".fixed"), Role::constant,
                          tensor);
  };
  for (std::size_t call = 0; call < rule.replacement.size(); ++call) {
    const auto& text = rule.rule.replacement[call];
    const auto& resolved = rule.replacement[call];
    const bool last = call + 1 == rule.replacement.size();
    std::vector<ValueId> inputs;
    for (const int index : resolved.inputs) {
      if (index < 0) {
        inputs.push_back(none);
        continue;
      }
      const auto& operand = text.inputs[static_cast<std::size_t>(index)].operand;
      inputs.push_back(operand.call ? results[operand.index] : value_of_variable(operand.index));
    }
    if (resolved.op->variadic())
      while (!inputs.empty() && inputs.back() == none) inputs.pop_back();
    Attributes attributes;
    for (const auto& param : text.params)
      attributes.set(param.name, param.capture ? match.capture(*param.capture) : param.value);
    if (text.rest)
      for (const auto& [key, value] : match.rest(*text.rest))
        if (std::none_of(
                text.params.begin(), text.params.end(),
                [&, &param_name = key](const auto& param) { return param.name == param_name; }))
          attributes.set(key, value);
    const auto values_before = model.values.size();
    const auto node_name = last ? name : fmt::format("{}/{}", name, short_name(text.op));
    const auto op = resolved.op->full_name();
    const auto id = builder.node({.op = op,
                                  .name = free_name(model, node_name),
                                  .inputs = std::move(inputs),
                                  .named_inputs = {},
                                  .attributes = attributes,
                                  .device = device,
                                  .implicit_variables = false});
    added.push_back(id);
    if (brings_variables(model, id, values_before)) return none;
    const auto& loaded = *binding_->nodes[id].op;
    if (loaded.make != nullptr || !has_kernel(model, id, loaded, runs_on)) return none;
    results.push_back(model.nodes[id].first_output);
  }
  return rule.rule.result.call ? results[rule.rule.result.index]
                               : value_of_variable(rule.rule.result.index);
}

// A graph output must be produced by a node, and distinct outputs stay distinct.
bool Rewriting::may_replace_root(NodeId root, ValueId added, bool is_new) const {
  const auto old = model_->nodes[root].first_output;
  if (!same_type(model_->values[old].type, model_->values[added].type)) return false;
  return is_new || !is_output_[old] ||
         (model_->values[added].role == Role::output && !is_output_[added]);
}

// `conv1+bn1+relu1`: the name of a node that replaces several.
std::string Rewriting::joined_name(const std::vector<NodeId>& matched) const {
  std::string name;
  for (const auto id : matched)
    name += fmt::format("{}{}", name.empty() ? "" : "+", model_->strings[model_->nodes[id].name]);
  if (name.size() <= longest_name) return name;
  const auto& last = model_->nodes[matched.back()].name;
  return fmt::format("{}...+{}", name.substr(0, longest_name / 2),
                     model_->strings[last].substr(0, longest_name / 2));
}

}  // namespace tenon

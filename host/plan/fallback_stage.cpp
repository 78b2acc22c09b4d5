#include "plan/fallback_stage.hpp"

#include <algorithm>
#include <vector>

namespace tenon {

bool has_external_effects(const GraphModel& model, NodeId id, const LoadedOperator& op) {
  return op.info->communicates || is_application_own(op) || model.objects.contains(id);
}
namespace {

class FallbackToOriginal {
 public:
  FallbackToOriginal(const GraphSnapshot& original, const Stage& rest)
      : original_(original.model),
        binding_(original.binding),
        rest_(rest),
        input_for_(original_.values.size(), none) {
    needed_.values.resize(original_.values.size());
    needed_.nodes.resize(original_.nodes.size());
    needed_.partial = rest.subgraph->partial;
  }

  /// Returns whether the outputs of `rest` can be computed.
  bool find_needed();
  std::shared_ptr<Stage> stage(const std::shared_ptr<const GraphSnapshot>& original) const;

 private:
  /// Returns the value of the optimized graph that replaces a value of the original graph.
  ValueId replacement_of(ValueId value) const {
    const auto& redirected = rest_.model().redirected;
    for (auto found = redirected.find(value); found != redirected.end();
         found = redirected.find(value))
      value = found->second;
    return value;
  }
  void find_inputs();
  bool need(NodeId id);
  // False for nodes that rules replaced.
  bool has_run(NodeId id) const {
    const auto& made = rest_.model().values[original_.nodes[id].first_output];
    return made.role == Role::input ||
           (made.producer != none && !rest_.subgraph->nodes[made.producer]);
  }
  // As in execution_order().
  bool runs_always(NodeId id) const {
    return !needed_.partial && binding_.nodes[id].info->communicates;
  }
  bool may_have_effect(NodeId id) const {
    const auto& node = original_.nodes[id];
    const auto& op = *binding_.nodes[id].op;
    return node.state_count > 0 || node.pass != Pass::forward ||
           has_external_effects(original_, id, op);
  }

  const GraphModel& original_;
  const Binding& binding_;
  const Stage& rest_;
  std::vector<ValueId> input_for_;  // of each value: the input of `rest` that holds its elements
  RequestedOutputs needed_;
};

// An input provides only the first of several values that it replaces; the others are recomputed.
void FallbackToOriginal::find_inputs() {
  std::vector<bool> used(rest_.model().values.size());
  for (ValueId value = 0; value < original_.values.size(); ++value) {
    const auto input = replacement_of(value);
    if (original_.values[value].role != Role::output ||
        rest_.model().values[input].role != Role::input || used[input])
      continue;
    if (rest_.subgraph->values[input]) input_for_[value] = input, used[input] = true;
  }
}

bool FallbackToOriginal::need(NodeId id) {
  if (needed_.nodes[id]) return true;
  if (may_have_effect(id) && has_run(id)) return false;
  needed_.nodes[id] = true;
  const auto& node = original_.nodes[id];
  // the node produces all of its outputs
  std::fill_n(input_for_.begin() + node.first_output, node.output_count, none);
  for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i)
    if (const auto value = original_.edges[node.first_edge + i]; value != none)
      needed_.values[value] = true;
  return true;
}

// Visits nodes in reverse: a node comes after its inputs.
bool FallbackToOriginal::find_needed() {
  find_inputs();
  for (const auto& [name, value] : rest_.subgraph->outputs) {
    const auto output =
        std::find_if(original_.outputs.begin(), original_.outputs.end(),
                     [&, &output_name = name](const auto& each) {
                       return original_.strings[each.first] == rest_.model().strings[output_name];
                     });
    if (output == original_.outputs.end()) return false;
    needed_.outputs.push_back(*output);
    needed_.values[output->second] = true;
  }
  for (NodeId id = static_cast<NodeId>(original_.nodes.size()); id-- > 0;) {
    const auto& node = original_.nodes[id];
    bool needed = runs_always(id) && !has_run(id);
    for (ValueId value = node.first_output; value < node.first_output + node.output_count; ++value)
      needed = needed || (needed_.values[value] && input_for_[value] == none);
    if (needed && !need(id)) return false;
  }
  return true;
}

std::shared_ptr<Stage> FallbackToOriginal::stage(
    const std::shared_ptr<const GraphSnapshot>& original) const {
  auto graph = std::make_shared<GraphSnapshot>(*original);
  auto stage = std::make_shared<Stage>();
  stage->types = declared_types(original_);
  auto& model = graph->model;
  for (ValueId value = 0; value < original_.values.size(); ++value) {
    if (original_.values[value].role != Role::output) stage->types[value] = rest_.types[value];
    if (!needed_.values[value] || input_for_[value] == none) continue;
    const auto input = input_for_[value];
    auto& record = model.values[value];
    record.role = Role::input;
    record.name = model.strings.intern(rest_.model().strings[rest_.model().values[input].name]);
    record.producer = none;
    model.inputs.push_back(value);
    model.value_names.add(record.name, value);
    stage->types[value] = rest_.types[input];
  }
  for (const auto readable : rest_.readable)
    for (ValueId value = 0; value < original_.values.size(); ++value)
      if (needed_.values[value] &&
          (input_for_[value] == readable ||
           (value == readable && original_.values[value].role != Role::output)))
        stage->readable.push_back(value);
  stage->graph = std::move(graph);
  stage->subgraph = needed_;
  return stage;
}

}  // namespace

std::shared_ptr<Stage> fallback_stage(const std::shared_ptr<const GraphSnapshot>& original,
                                      const Stage& rest) {
  FallbackToOriginal fallback(*original, rest);
  return fallback.find_needed() ? fallback.stage(original) : nullptr;
}

}  // namespace tenon

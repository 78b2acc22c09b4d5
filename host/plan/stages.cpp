#include "plan/stages.hpp"

#include <algorithm>
#include <set>

namespace tenon {
namespace {

class StageCutter {
 public:
  StageCutter(const Stage& stage, const Inferred& inferred, bool training)
      : stage_(stage), model_(stage.model()), inferred_(inferred), training_(training) {}

  /// Returns whether anything is left for a later stage.
  bool find_later();
  CutStage cut() const;

 private:
  bool runs(NodeId id) const { return !stage_.subgraph || stage_.subgraph->nodes[id]; }
  bool waits(NodeId id) const;
  bool is_late(ValueId value) const { return value != none && late_[value]; }
  template <class Visit>
  void each_edge(const NodeRecord& node, Visit&& visit) const {
    for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i)
      if (const auto value = model_.edges[node.first_edge + i]; value != none) visit(value);
  }
  // Visits the values around a backward node's origin, which determine the backward node's types.
  template <class Visit>
  void each_around_origin(const NodeRecord& node, Visit&& visit) const {
    if (node.pass != Pass::backward) return;
    const auto& origin = model_.nodes[node.origin];
    each_edge(origin, visit);
    for (std::uint32_t i = 0; i < origin.output_count; ++i) visit(origin.first_output + i);
  }
  // Updates of variables; empty unless training.
  const auto& updates() const {
    static const decltype(model_.updates) no_updates;
    return !training_ ? no_updates : stage_.subgraph ? stage_.subgraph->updates : model_.updates;
  }
  bool is_produced_now(ValueId value) const;
  bool is_produced_later(ValueId value) const;
  std::vector<bool> needed_later() const;

  const Stage& stage_;
  const GraphModel& model_;
  const Inferred& inferred_;
  const bool training_;
  // of each value: its elements or shape become known only when this stage has run
  std::vector<bool> late_;
  std::vector<bool> later_;            // of each node: runs in a later stage
  std::set<NodeId> waiting_;           // nodes that need elements
  std::set<ValueId> needed_elements_;  // whose elements the waiting nodes need
  std::set<ValueId> later_states_;     // that a node of a later stage uses
};

bool StageCutter::find_later() {
  for (const auto& [node, value] : inferred_.missing_elements) {
    if (model_.values[value].role == Role::constant || stage_.is_readable(value)) continue;
    waiting_.insert(node);
    needed_elements_.insert(value);
  }
  const auto& nodes = model_.nodes;
  late_.assign(model_.values.size(), false);
  later_.assign(nodes.size(), false);
  bool found = false;
  for (NodeId id = 0; id < nodes.size(); ++id) {
    if (!runs(id)) continue;
    const auto& node = nodes[id];
    later_[id] = waits(id);
    found = found || later_[id];
    if (later_[id])
      each_edge(node, [&](ValueId value) {
        if (model_.values[value].role == Role::state) later_states_.insert(value);
      });
    const auto& info = *stage_.graph->binding.nodes[id].info;
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      late_[node.first_output + i] =
          later_[id] || (node.pass != Pass::backward && info.allocates(i));
  }
  for (const auto& update : updates()) found = found || late_[update.second];
  return found;
}

bool StageCutter::waits(NodeId id) const {
  bool waits = waiting_.contains(id);
  const auto check = [&](ValueId value) {
    waits = waits || late_[value] || later_states_.contains(value);
  };
  each_edge(model_.nodes[id], check);
  each_around_origin(model_.nodes[id], check);
  return waits;
}

// Elements that a later node produces are unknown when its stage is planned: planning then computes
// them from known sizes, or cuts that stage again.
bool StageCutter::is_produced_later(ValueId value) const {
  const auto& record = model_.values[value];
  return record.role == Role::output && record.producer != none && later_[record.producer];
}

bool StageCutter::is_produced_now(ValueId value) const {
  const auto& record = model_.values[value];
  return record.role == Role::output && record.producer != none && !later_[record.producer];
}

std::vector<bool> StageCutter::needed_later() const {
  std::vector<bool> needed(model_.values.size());
  for (NodeId id = 0; id < model_.nodes.size(); ++id) {
    if (!later_[id]) continue;
    each_edge(model_.nodes[id], [&](ValueId value) { needed[value] = true; });
    each_around_origin(model_.nodes[id],
                       [&](ValueId value) { needed[value] = needed[value] || late_[value]; });
  }
  for (const auto value : needed_elements_) needed[value] = true;
  return needed;
}

CutStage StageCutter::cut() const {
  auto now = std::make_shared<Stage>(stage_), later = std::make_shared<Stage>();
  auto rest = std::make_shared<GraphSnapshot>(*stage_.graph);
  auto needed = needed_later();
  RequestedOutputs first, second;
  first.partial = second.partial = stage_.subgraph && stage_.subgraph->partial;
  first.values =
      stage_.subgraph ? stage_.subgraph->values : std::vector<bool>(model_.values.size(), true);
  first.nodes.resize(later_.size());
  for (NodeId id = 0; id < later_.size(); ++id) first.nodes[id] = runs(id) && !later_[id];
  second.nodes = later_;
  for (const auto& output : stage_.subgraph ? stage_.subgraph->outputs : model_.outputs) {
    (is_produced_later(output.second) ? second : first).outputs.push_back(output);
  }
  // Updates by variables are made in the later stage, with the values before the run.
  for (const auto& [variable, value] : updates())
    if (model_.values[value].role == Role::variable) needed[value] = true;
  for (const auto& update : updates()) {
    // A later node still reads the old value, or the shape of the new one is not known yet.
    const bool now_too =
        is_produced_now(update.second) && !late_[update.second] && !needed[update.first];
    (now_too ? first : second).updates.push_back(update);
    if (!now_too) needed[update.second] = true;
  }
  for (const auto& [name, value] : second.outputs) needed[value] = true;
  for (ValueId value = 0; value < needed.size(); ++value) {
    if (!needed[value] || !is_produced_now(value)) continue;
    const auto label = value_label(model_, value);
    first.outputs.emplace_back(StringId{}, value);
    ++first.device_output_count;
    auto& record = rest->model.values[value];
    record.role = Role::input;
    record.name = rest->model.strings.intern(label);
    record.producer = none;
    rest->model.inputs.push_back(value);
    rest->model.value_names.add(record.name, value);
  }
  rest->model.outputs = second.outputs;
  if (training_) rest->model.updates = second.updates;
  second.values = std::move(needed);
  later->types = inferred_.types;
  later->readable = stage_.readable;
  for (const auto value : needed_elements_)
    if (!is_produced_later(value)) later->readable.push_back(value);
  later->graph = std::move(rest);
  later->subgraph = std::move(second);
  now->subgraph = std::move(first);
  return {std::move(now), std::move(later)};
}

}  // namespace

bool Stage::is_readable(ValueId value) const {
  return std::find(readable.begin(), readable.end(), value) != readable.end();
}

CutStage cut(const std::shared_ptr<const Stage>& stage, const Inferred& inferred, bool training) {
  const auto& operators = stage->graph->binding.operators;
  const bool may_wait = !inferred.missing_elements.empty() ||
                        std::any_of(operators.begin(), operators.end(),
                                    [](const LoadedOperator* op) { return op->info->allocates(); });
  if (!may_wait) return {stage, nullptr};
  StageCutter cutter(*stage, inferred, training);
  return cutter.find_later() ? cutter.cut() : CutStage{stage, nullptr};
}

std::shared_ptr<const Stage> without_evaluated(std::shared_ptr<const Stage> stage,
                                               const std::map<ValueId, Tensor>& evaluated) {
  if (evaluated.empty()) return stage;
  const auto& model = stage->model();
  auto rest = std::make_shared<Stage>(*stage);
  if (!rest->subgraph) {
    auto& all = rest->subgraph.emplace();
    all.outputs = model.outputs;
    all.updates = model.updates;
    all.values.assign(model.values.size(), true);
    all.nodes.assign(model.nodes.size(), true);
    all.partial = false;
  }
  for (const auto& [value, tensor] : evaluated) rest->subgraph->evaluated.push_back(value);
  return rest;
}

std::vector<std::string> node_names(const Stage& stage) {
  std::vector<std::string> names;
  for (NodeId id = 0; id < stage.model().nodes.size(); ++id)
    if (stage.subgraph->nodes[id])
      names.emplace_back(stage.model().strings[stage.model().nodes[id].name]);
  return names;
}

}  // namespace tenon

#include "graph/inference/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tenon {

namespace {

template <class Visit>
void each_around(const GraphModel& model, const NodeRecord& node, Visit&& visit) {
  for (std::uint32_t i = 0; i < node.input_count; ++i)
    if (const auto value = model.edges[node.first_edge + i]; value != none) visit(value);
  for (std::uint32_t i = 0; i < node.output_count; ++i) visit(node.first_output + i);
}

bool same(const std::vector<tenon_type>& left, const std::vector<tenon_type>& right) {
  return left.size() == right.size() &&
         (left.empty() ||
          std::memcmp(left.data(), right.data(), left.size() * sizeof(tenon_type)) == 0);
}

// `type_of_value` returns the type of a value by its number.
template <class TypeOfValue>
void gather(const GraphModel& model, const NodeRecord& node, CallTypes& types,
            TypeOfValue type_of_value) {
  const auto* edges = model.edges.data() + node.first_edge;
  types.inputs.resize(node.input_count);
  types.states.resize(node.state_count);
  types.outputs.resize(node.output_count);
  for (std::uint32_t i = 0; i < node.input_count; ++i) {
    types.inputs[i] = edges[i] == none ? unknown_type() : type_of_value(edges[i]);
    types.inputs[i].present = edges[i] != none;
  }
  for (std::uint32_t i = 0; i < node.state_count; ++i)
    types.states[i] = type_of_value(edges[node.input_count + i]);
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    types.outputs[i] = type_of_value(node.first_output + i);
}

}  // namespace

void gather_types(const GraphModel& model, const NodeRecord& node,
                  const std::vector<tenon_type>& from, CallTypes& types) {
  gather(model, node, types, [&](ValueId value) -> const tenon_type& { return from[value]; });
}

void gather_types(const GraphModel& model, const NodeRecord& node, TypeTable from,
                  CallTypes& types) {
  gather(model, node, types, [&](ValueId value) -> const tenon_type& { return from[value]; });
}

void gather_types(const GraphModel& model, const NodeRecord& node, CallTypes& types) {
  gather(model, node, types,
         [&](ValueId value) -> const tenon_type& { return model.values[value].type; });
}

void Inference::run() {
  std::vector<ValueId> later;
  last_.resize(model_.operators.size());
  for (NodeId node = 0; node < model_.nodes.size(); ++node) {
    if (!counts(node) || !may_add_types(node)) continue;
    changed_.clear();
    infer(node);
    // Readers of its outputs see within the same sweep what the node learned about them.
    const auto& record = model_.nodes[node];
    for (const auto value : changed_)
      if (value < record.first_output || value >= record.first_output + record.output_count)
        later.push_back(value);
  }
  changed_ = std::move(later);
  settle();
  check_updates();
}

void Inference::run_again(std::vector<bool> news) {
  news_ = std::move(news);
  run();
}

// A node with unknown outputs is visited in any case because it may need elements; see
// missing_elements().
bool Inference::may_add_types(NodeId id) const {
  if (news_.empty()) return true;
  const auto& node = model_.nodes[id];
  const auto* edges = model_.edges.data() + node.first_edge;
  bool may = false;
  for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i)
    may = may || (edges[i] != none && news_[edges[i]]);
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    const auto value = node.first_output + i;
    may = may || news_[value] || !is_known(types_[value]);
  }
  if (node.pass == Pass::backward)
    each_around(model_, model_.nodes[node.origin],
                [&](ValueId value) { may = may || news_[value]; });
  return may;
}

// A variable receives a copy of the value's bytes, so the types must agree.
void Inference::check_updates() const {
  for (const auto& [variable, value] : model_.updates) {
    auto type = types_[variable];
    if (merge(type, types_[value]) == Merge::contradiction)
      throw Failure(FailureKind::failed,
                    fmt::format("'{}' is {} but would be updated with {}, which is {}",
                                value_label(model_, variable), to_string(types_[variable]),
                                value_label(model_, value), to_string(types_[value])));
  }
}

void Inference::run_from(NodeId node) {
  remember_ = true;
  try {
    changed_.clear();
    infer(node);
    // Only this node reads the values that were created for it.
    const auto& record = model_.nodes[node];
    std::erase_if(changed_, [&](ValueId value) { return value >= record.first_output; });
    settle();
  } catch (...) {
    for (auto entry = before_.rbegin(); entry != before_.rend(); ++entry)
      types_[entry->first] = entry->second;
    throw;
  }
}

// Repeats until no type changes.
void Inference::settle() {
  if (changed_.empty()) return;
  find_readers();
  queued_.assign(model_.nodes.size(), false);
  for (;;) {
    for (const auto value : changed_) {
      if (model_.values[value].producer != none) wake(model_.values[value].producer);
      for (auto i = first_reader_[value]; i < first_reader_[value + 1]; ++i) wake(readers_[i]);
    }
    changed_.clear();
    if (queue_.empty()) return;
    const auto node = queue_.back();
    queue_.pop_back();
    queued_[node] = false;
    infer(node);
  }
}

void Inference::wake(NodeId node) {
  if (queued_[node] || !counts(node)) return;
  queued_[node] = true;
  queue_.push_back(node);
}

void Inference::find_readers() {
  first_reader_.assign(model_.values.size() + 1, 0);
  const auto each_read = [&](auto&& visit) {
    for (NodeId id = 0; id < model_.nodes.size(); ++id) {
      const auto& node = model_.nodes[id];
      for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i)
        if (const auto value = model_.edges[node.first_edge + i]; value != none) visit(id, value);
      if (node.pass == Pass::backward)
        each_around(model_, model_.nodes[node.origin], [&](ValueId value) { visit(id, value); });
    }
  };
  each_read([&](NodeId, ValueId value) { ++first_reader_[value + 1]; });
  for (std::size_t i = 1; i < first_reader_.size(); ++i) first_reader_[i] += first_reader_[i - 1];
  readers_.resize(first_reader_.back());
  auto next = first_reader_;
  each_read([&](NodeId id, ValueId value) { readers_[next[value]++] = id; });
}

// A gradient has the type of the value it belongs to.
void Inference::infer_backward(NodeId id) {
  const auto& node = model_.nodes[id];
  const auto& forward = model_.nodes[node.origin];
  const auto* edges = model_.edges.data() + node.first_edge;
  const auto* inputs = model_.edges.data() + forward.first_edge;
  for (std::uint32_t i = 0; i < forward.output_count; ++i) {
    agree(id, edges[i], forward.first_output + i);
    agree(id, edges[forward.output_count + forward.input_count + i], forward.first_output + i);
  }
  for (std::uint32_t i = 0; i < forward.input_count; ++i) {
    agree(id, edges[forward.output_count + i], inputs[i]);
    agree(id, node.first_output + i, inputs[i]);
  }
}

void Inference::agree(NodeId node, ValueId left, ValueId right) {
  if (left == none || right == none) return;
  learn(node, left, types_[right]);
  learn(node, right, types_[left]);
}

// Returns the elements of constants, which no run changes, and of values supplied by the caller;
// else null.
const tenon_tensor* Inference::elements_of(ValueId value) const {
  const auto& record = model_.values[value];
  const tenon_tensor* tensor = nullptr;
  if (record.role == Role::constant && record.tensor != none)
    tensor = &model_.tensors[record.tensor].abi();
  else if (elements_ != nullptr)
    if (const auto found = elements_->find(value); found != elements_->end())
      tensor = found->second;
  if (tensor == nullptr)
    if (const auto found = evaluated_.find(value); found != evaluated_.end())
      tensor = &found->second.abi();
  return tensor != nullptr && may_infer_read(*tensor) ? tensor : nullptr;
}

void Inference::note_read(ValueId value) {
  const auto& record = model_.values[value];
  if (record.role == Role::constant && record.tensor != none) read_constants_.insert(value);
}

void Inference::find_values(const NodeRecord& node,
                            std::vector<const tenon_tensor*>& values) const {
  values.clear();
  for (std::uint32_t i = 0; i < node.input_count; ++i) {
    const auto value = model_.edges[node.first_edge + i];
    const auto* tensor = value == none ? nullptr : elements_of(value);
    if (tensor == nullptr) continue;
    values.resize(node.input_count);
    values[i] = tensor;
  }
}

// Evaluates elements that infer() requested and that follow from shapes. Returns whether there are
// new ones.
bool Inference::evaluate_requested(const NodeRecord& node, const CallTypes& types) {
  bool found = false;
  for (std::uint32_t i = 0; i < types.requested.size(); ++i) {
    const auto value = model_.edges[node.first_edge + i];
    if (types.requested[i] == 0 || value == none || elements_of(value) != nullptr) continue;
    std::set<ValueId> failed;
    found = evaluate(value, 0, failed) || found;
  }
  return found;
}

// Shape arithmetic is short. Longer computations are left to the run, and their consumers are
// planned afterwards.
bool Inference::evaluate(ValueId value, int depth, std::set<ValueId>& failed) {
  constexpr int max_depth = 200;
  constexpr std::size_t max_failed = 2000;
  if (evaluated_.contains(value) || elements_of(value) != nullptr) {
    note_read(value);
    return true;
  }
  const auto producer = model_.values[value].producer;
  if (producer == none || depth > max_depth || failed.size() > max_failed || failed.contains(value))
    return false;
  if (run_kernel(producer, depth, failed)) return true;
  failed.insert(value);
  return false;
}

bool Inference::run_kernel(NodeId id, int depth, std::set<ValueId>& failed) {
  constexpr std::size_t max_bytes = 65536;
  const auto& node = model_.nodes[id];
  const auto& bound = binding_.nodes[id];
  const auto& info = *bound.info;
  if (node.pass == Pass::backward || node.state_count != 0 || info.random || info.communicates ||
      bound.op->isolated_plugin() != nullptr)
    return false;
  const auto* edges = model_.edges.data() + node.first_edge;
  for (std::uint32_t i = 0; i < node.input_count; ++i) {
    if (edges[i] == none) continue;
    const auto& type = types_[edges[i]];
    if (!is_known(type) || type.storage != TENON_DENSE) return false;
    if (!info.inputs[declared_input(info, i)].shape_only && !evaluate(edges[i], depth + 1, failed))
      return false;
  }
  CallTypes types;
  gather_types(model_, node, types_, types);
  find_values(node, types.values);
  types.values.resize(node.input_count);
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    if (info.allocates(i) || !is_known(types.outputs[i])) return false;
    bytes += byte_count(types.outputs[i]);
  }
  if (bytes > max_bytes) return false;
  auto outputs = (*evaluate_)(id, types);
  if (outputs.empty()) return false;
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    evaluated_.insert_or_assign(node.first_output + i, std::move(outputs[i]));
  return true;
}

std::vector<std::pair<NodeId, ValueId>> Inference::missing_elements() const {
  std::vector<std::pair<NodeId, ValueId>> found;
  for (const auto& [id, value] : missing_elements_) {
    const auto& node = model_.nodes[id];
    bool known = true;
    for (std::uint32_t i = 0; i < node.output_count; ++i)
      known = known &&
              (is_known(types_[node.first_output + i]) || binding_.nodes[id].info->allocates(i));
    if (!known) found.emplace_back(id, value);
  }
  return found;
}

// The result depends only on the object and the types, so the last one is cached for each operator.
const CallTypes& Inference::infer_call(NodeId id) {
  const auto& node = model_.nodes[id];
  const auto& bound = binding_.nodes[id];
  auto& types = scratch_;
  gather_types(model_, node, types_, types);
  find_values(node, types.values);
  const auto infer_now = [&] {
    at_node(model_, id, [&] { infer_operator(*bound.op, bound.instance->get(), types); });
  };
  if (last_.empty() || !types.values.empty()) return infer_now(), types;
  auto& last = last_[node.op];
  if (last.from == bound.instance.get() && same(last.request.inputs, types.inputs) &&
      same(last.request.outputs, types.outputs) && same(last.request.states, types.states))
    return last.result;
  last.from = nullptr;
  last.request = types;
  infer_now();
  last.result = types;
  last.from = bound.instance.get();
  return types;
}

// Whether the types around a node say more than what follows from its inputs' types.
bool Inference::follow_from_elements(NodeId id) const {
  const auto& bound = binding_.nodes[id];
  CallTypes known;
  gather_types(model_, model_.nodes[id], types_, known);
  auto types = known;
  std::ranges::fill(types.outputs, unknown_type());
  try {
    infer_operator(*bound.op, bound.instance->get(), types);
  } catch (const Failure&) {
    return true;
  }
  return !same(types.inputs, known.inputs) || !same(types.states, known.states) ||
         !same(types.outputs, known.outputs);
}

std::set<ValueId> Inference::determining_constants() const {
  std::set<ValueId> found;
  for (const auto id : readers_of_elements_) {
    if (!follow_from_elements(id)) continue;
    const auto& node = model_.nodes[id];
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (const auto value = model_.edges[node.first_edge + i]; read_constants_.contains(value))
        found.insert(value);
  }
  return found;
}

void Inference::infer(NodeId id) {
  const auto& node = model_.nodes[id];
  if (node.pass == Pass::backward) return infer_backward(id);
  const auto* edges = model_.edges.data() + node.first_edge;
  const auto* answer = &infer_call(id);
  if (evaluate_ != nullptr && evaluate_requested(node, *answer)) answer = &infer_call(id);
  const auto& types = *answer;
  for (std::uint32_t i = 0; i < types.requested.size(); ++i) {
    if (types.requested[i] == 0 || edges[i] == none) continue;
    if (types.values.empty() || types.values[i] == nullptr) {
      missing_elements_.emplace(id, edges[i]);
    } else {
      note_read(edges[i]);
      readers_of_elements_.insert(id);
    }
  }

  for (std::uint32_t i = 0; i < node.input_count; ++i) {
    if (edges[i] != none)
      learn(id, edges[i], types.inputs[i]);
    else if (types.inputs[i].rank >= 0 && is_implicit_variable(id, i))
      implicit_variables_.emplace_back(node.first_edge + i, types.inputs[i]);
  }
  for (std::uint32_t i = 0; i < node.state_count; ++i)
    learn(id, edges[node.input_count + i], types.states[i]);
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    learn(id, node.first_output + i, types.outputs[i]);
}

// An unconnected optional input stays unconnected unless it is a weight or the graph has a variable
// for it.
bool Inference::is_implicit_variable(NodeId id, std::uint32_t input) const {
  const auto& node = model_.nodes[id];
  const auto& info = *binding_.nodes[id].op->info;
  const auto& declared = info.inputs[declared_input(info, input)];
  if (!declared.optional || declared.weight.value_or(true)) return true;
  const auto name = fmt::format("{}_{}", model_.strings[node.name], declared.name);
  const auto variable = model_.value_names.find(model_.strings.find(name));
  return variable != none && model_.values[variable].role == Role::variable;
}

// A value may be connected to several inputs, each of which may have learned something.
void Inference::learn(NodeId node, ValueId value, const tenon_type& type) {
  const auto before = types_[value];
  switch (merge(types_[value], type)) {
    case Merge::same:
      return;
    case Merge::learned:
      changed_.push_back(value);
      if (!news_.empty()) news_[value] = true;
      if (remember_) before_.emplace_back(value, before);
      if (model_.values[value].producer == none) declared_types_.emplace(value, before);
      return;
    case Merge::contradiction:
      throw Failure(
          FailureKind::failed,
          fmt::format("{}: {} is inferred as both {} and {}", node_label(model_, node),
                      value_label(model_, value), to_string(types_[value]), to_string(type)));
  }
}

}  // namespace tenon

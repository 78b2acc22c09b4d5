#include "graph/rewrite/rewriting.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plugin/operator_name.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {
namespace {

// A folded constant may be this much larger than its sources: worthwhile for tables and for
// weights of 8 bits that become float32, not for tensors filled with one number.
constexpr std::uint64_t small_result = 64 << 10, growth = 4;

}  // namespace

Rewriting::Rewriting(std::shared_ptr<const GraphSnapshot> from, const RewriteSetting& setting)
    : from_(std::move(from)), setting_(setting), model_(&from_->model), binding_(&from_->binding) {}

bool Rewriting::begin() {
  if (setting_.optimize == Optimize::none) return false;
  count_uses();
  find_constants(order());
  for (const auto* op : binding_->operators) files_.insert(op->file);
  const bool computes = !bytes_.empty();
  if (!computes && !any_dead() && !any_common_subexpression() && !any_rule()) return false;
  copy();
  return true;
}

void Rewriting::count_uses() {
  uses_.assign(model_->values.size(), 0);
  pinned_.assign(model_->nodes.size(), false);
  is_output_.assign(model_->values.size(), false);
  for (const auto& node : model_->nodes) {
    for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i)
      if (const auto value = model_->edges[node.first_edge + i]; value != none) ++uses_[value];
    if (node.origin != none) pinned_[node.origin] = true;
  }
  for (const auto& [name, value] : model_->outputs) is_output_[value] = true;
}

void Rewriting::find_constants(const std::vector<NodeId>& nodes) {
  constant_.assign(model_->values.size(), false);
  bytes_.clear();
  for (ValueId value = 0; value < model_->values.size(); ++value)
    if (model_->values[value].role != Role::output) constant_[value] = is_unchanging(value);
  for (const auto id : nodes)
    if (computes_constant(id)) mark_constant(id);
}

// Whether the value's elements never change during the session.
bool Rewriting::is_unchanging(ValueId value) const {
  const auto role = model_->values[value].role;
  if (value >= setting_.unchanging->size()) return role == Role::constant;  // added by a rule
  return (*setting_.unchanging)[value];
}

// Values that rules add have no tensor here.
bool Rewriting::is_number(ValueId value, double number) const {
  if (value >= setting_.tensors->size() || model_->values[value].role == Role::state ||
      !constant_[value])
    return false;
  const auto& tensor = (*setting_.tensors)[value];
  if (!tensor || tensor.storage() != Storage::dense || tensor.size() != 1 ||
      tensor.device() != "cpu")
    return false;
  if (tensor.dtype() == f32)
    return *static_cast<const float*>(tensor.data()) == static_cast<float>(number);
  return tensor.dtype() == f64 && *static_cast<const double*>(tensor.data()) == number;
}

// Whether equal inputs give equal outputs and the number of calls is not observable. Unknown, hence
// false, for an application's own operators.
bool Rewriting::is_pure(NodeId id) const {
  const auto& op = *binding_->nodes[id].op;
  return may_be_removed(id) && !op.info->random && model_->nodes[id].pass == Pass::forward;
}

bool Rewriting::may_be_removed(NodeId id) const {
  const auto& op = *binding_->nodes[id].op;
  return model_->nodes[id].state_count == 0 && !op.info->communicates && !is_application_own(op) &&
         !model_->objects.contains(id);
}

bool Rewriting::is_free(NodeId id) const {
  return model_->nodes[id].pass == Pass::forward && !pinned_at(id) && !removed_at(id) &&
         !model_->objects.contains(id) && binding_->nodes[id].op->make == nullptr;
}

bool Rewriting::computes_constant(NodeId id) const {
  const auto& node = model_->nodes[id];
  for (std::uint32_t i = 0; i < node.input_count; ++i)
    if (const auto value = model_->edges[node.first_edge + i]; value != none && !constant_[value])
      return false;
  return is_pure(id) && !pinned_at(id) && !binding_->nodes[id].info->allocates() &&
         fits_as_constant(node);
}

// Graph outputs are computed by every run, so they are not folded.
bool Rewriting::fits_as_constant(const NodeRecord& node) const {
  std::uint64_t bytes = 0;
  for (auto value = node.first_output; value < node.first_output + node.output_count; ++value) {
    const auto& type = model_->values[value].type;
    const auto size = is_known(type) && type.storage == TENON_DENSE ? byte_count(type) : -1;
    if (size < 0 || is_output_[value]) return false;
    bytes += static_cast<std::uint64_t>(size);
  }
  return bytes <= small_result + growth * source_bytes(node);
}

// Total size of the original constants that the node depends on; counts repeated uses, capped at
// 2^40.
std::uint64_t Rewriting::source_bytes(const NodeRecord& node) const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < node.input_count; ++i) {
    const auto value = model_->edges[node.first_edge + i];
    if (value == none) continue;
    const auto found = bytes_.find(value);
    sum += found != bytes_.end() ? found->second
                                 : static_cast<std::uint64_t>(std::max<std::int64_t>(
                                       0, byte_count(model_->values[value].type)));
  }
  return std::min(sum, std::uint64_t{1} << 40);
}

void Rewriting::mark_constant(NodeId id) {
  const auto& node = model_->nodes[id];
  const auto bytes = source_bytes(node);
  for (auto value = node.first_output; value < node.first_output + node.output_count; ++value)
    constant_[value] = true, bytes_[value] = bytes;
}

bool Rewriting::any_dead() const {
  for (NodeId id = 0; id < model_->nodes.size(); ++id) {
    const auto& node = model_->nodes[id];
    bool read = pinned_[id];
    for (auto value = node.first_output; !read && value < node.first_output + node.output_count;
         ++value)
      read = uses_[value] > 0 || is_output_[value];
    if (!read && may_be_removed(id)) return true;
  }
  return false;
}

bool Rewriting::any_rule() {
  if (setting_.rules == nullptr || setting_.rules->empty()) return false;
  for (NodeId id = 0; id < model_->nodes.size(); ++id)
    if (matches_any(id)) return true;
  return false;
}

void Rewriting::copy() {
  to_ = std::make_shared<GraphSnapshot>(*from_);
  model_ = &to_->model;
  binding_ = &to_->binding;
  removed_.assign(model_->nodes.size(), false);
}

ValueId Rewriting::current_value(ValueId value) const {
  for (auto found = redirected_.find(value); found != redirected_.end();
       found = redirected_.find(value))
    value = found->second;
  return value;
}

// Makes all readers of `from` read `to`.
void Rewriting::redirect(ValueId from, ValueId to) {
  uses_[to] += uses_[from];
  uses_[from] = 0;
  if (is_output_[from]) is_output_[from] = false, is_output_[to] = true;
  redirected_.emplace(from, to);
}

void Rewriting::update_edges(NodeId id) {
  if (redirected_.empty()) return;
  const auto& node = model_->nodes[id];
  for (auto edge = node.first_edge; edge < node.first_edge + node.input_count; ++edge)
    if (auto& value = to_->model.edges[edge]; value != none) value = current_value(value);
}

// Removes the node; it no longer counts as a reader of its inputs.
void Rewriting::drop(NodeId id) {
  const auto& node = model_->nodes[id];
  for (auto edge = node.first_edge; edge < node.first_edge + node.input_count + node.state_count;
       ++edge)
    if (const auto value = model_->edges[edge]; value != none) --uses_[current_value(value)];
  removed_[id] = true;
}

void Rewriting::note(NodeId id, const std::string& how) {
  auto& model = to_->model;
  if (id < from_->model.nodes.size())
    model.replaced_nodes.push_back({model.nodes[id].name, model.strings.intern(how)});
}

std::vector<NodeId> Rewriting::order() const {
  std::vector<NodeId> found;
  found.reserve(model_->nodes.size());
  for (NodeId id = 0; id < from_->model.nodes.size(); ++id) {
    if (!removed_at(id)) found.push_back(id);
    if (const auto inserted = after_.find(id); inserted != after_.end())
      std::copy_if(inserted->second.begin(), inserted->second.end(), std::back_inserter(found),
                   [&](NodeId added) { return !removed_[added]; });
  }
  return found;
}

// Rules and joined nodes change outputs and readers, so constants are found again: a node is folded
// only if all its inputs are constant.
Rewriting::ConstantSubgraph Rewriting::constant_subgraph() {
  ConstantSubgraph subgraph;
  if (bytes_.empty()) return subgraph;
  const auto nodes = order();
  find_constants(nodes);
  std::vector<bool> computed(model_->nodes.size());
  const auto needed = needed_nodes(nodes);
  for (const auto id : nodes)
    if (needed[id] && (computed[id] = is_computed_once(id))) subgraph.nodes.push_back(id);
  std::vector<bool> seen(model_->values.size());
  for (const auto id : nodes) {
    if (!needed[id] || computed[id]) continue;
    const auto& node = model_->nodes[id];
    for (std::uint32_t i = 0; i < node.input_count; ++i) {
      const auto value = model_->edges[node.first_edge + i];
      if (value == none || seen[value] || model_->values[value].role != Role::output) continue;
      if (!computed[model_->values[value].producer]) continue;
      seen[value] = true;
      subgraph.results.push_back(value);
    }
  }
  return subgraph;
}

void Rewriting::set_constants(const ConstantSubgraph& subgraph,
                              const std::vector<Tensor>& tensors) {
  auto& model = to_->model;
  for (std::size_t i = 0; i < subgraph.results.size(); ++i) {
    if (!tensors[i]) continue;
    auto label = value_label(model, subgraph.results[i]);
    std::replace(label.begin(), label.end(), ':', '.');
    auto& value = model.values[subgraph.results[i]];
    model.node_names.erase(model.nodes[value.producer].name);  // it ends with this node
    value.name = model.strings.intern(free_name(model, label));
    value.role = Role::constant;
    value.producer = none;
    value.index = 0;
    value.tensor = static_cast<std::uint32_t>(model.tensors.size());
    value.type = type_of(tensors[i]);
    model.tensors.push_back(TrackedTensor::track(tensors[i]));
    model.value_names.add(value.name, subgraph.results[i]);
  }
}

// Marks nodes that outputs need or that have side effects.
std::vector<bool> Rewriting::needed_nodes(const std::vector<NodeId>& nodes) const {
  std::vector<bool> values(model_->values.size()), needed(model_->nodes.size());
  for (const auto& [name, value] : model_->outputs) values[current_value(value)] = true;
  for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) {
    const auto& node = model_->nodes[*id];
    bool read = needed[*id] || !may_be_removed(*id);
    for (auto value = node.first_output; !read && value < node.first_output + node.output_count;
         ++value)
      read = values[value] && model_->values[value].role == Role::output;
    if (!read) continue;
    needed[*id] = true;
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (const auto value = model_->edges[node.first_edge + i]; value != none)
        values[value] = true;
    if (node.origin != none) needed[node.origin] = true;
  }
  return needed;
}

std::shared_ptr<const GraphSnapshot> Rewriting::finish() {
  const auto nodes = order();
  const auto needed = needed_nodes(nodes);
  for (const auto id : nodes)
    if (!needed[id])
      note(id, is_computed_once(id) ? "computed once, for all runs" : "nothing reads it");
  auto& model = to_->model;
  for (auto& [name, value] : model.outputs) value = current_value(value);
  model.updates.clear();  // updates exist only in training
  model.redirected = redirected_;
  renumber(nodes, needed);
  return std::move(to_);
}

void Rewriting::renumber(const std::vector<NodeId>& nodes, const std::vector<bool>& needed) {
  auto& model = to_->model;
  std::vector<NodeId> number(model.nodes.size(), none);
  std::vector<NodeRecord> remaining;
  Binding binding;
  binding.operators = std::move(to_->binding.operators);
  remaining.reserve(nodes.size()), binding.nodes.reserve(nodes.size());
  for (const auto id : nodes) {
    if (!needed[id]) continue;
    number[id] = static_cast<NodeId>(remaining.size());
    remaining.push_back(model.nodes[id]);
    binding.nodes.push_back(std::move(to_->binding.nodes[id]));
  }
  for (auto& node : remaining)
    if (node.origin != none) node.origin = number[node.origin];
  for (auto& value : model.values)
    if (value.producer != none) value.producer = number[value.producer];
  model.node_names.clear();
  for (NodeId id = 0; id < remaining.size(); ++id) model.node_names.add(remaining[id].name, id);
  const auto renumbered = [&](auto& by_node) {
    std::remove_reference_t<decltype(by_node)> moved;
    for (auto& [id, entry] : by_node)
      if (number[id] != none) moved.emplace(number[id], std::move(entry));
    by_node = std::move(moved);
  };
  renumbered(model.objects), renumbered(model.rewritten_from);
  model.nodes = std::move(remaining);
  to_->binding = std::move(binding);
}

}  // namespace tenon

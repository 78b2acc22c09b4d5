#include "plan/layouts.hpp"

#include <algorithm>
#include <array>

#include "device/devices.hpp"
#include "graph/inference.hpp"
#include "plan/layout_groups.hpp"
#include "plan/reorder.hpp"

namespace tenon {
namespace {

/// Which nodes have their group channels-last. A value lies as its producer's group does, plain where that has none; whoever wants it
/// otherwise shares one reordering.
class LayoutChoice {
 public:
  LayoutChoice(const Lowered& graph, const Kernels& kernels, std::vector<tenon_type>& types)
      : graph_(graph), model_(graph.model()), types_(types), last_(model_.nodes.size()), values_(model_.values.size()) {
    groups_.resize(model_.nodes.size());
    for (const auto id : graph.order) groups_[id] = layout_group(graph, kernels, id, types);
    for (const auto id : graph.order) count_readers(id);
    for (const auto& [name, value] : model_.outputs) ++values_[value].plain_readers;
  }

  void run() {
    for (const auto id : graph_.order) {
      if (groups_[id].wish == LayoutWish::prefers) put(id, true);
      if (groups_[id].wish == LayoutWish::takes) put(id, follows(id));
    }
    improve();
  }

  const LayoutGroup& group(NodeId id) const { return groups_[id]; }
  bool is_last(NodeId id) const { return last_[id]; }
  bool any() const { return std::find(last_.begin(), last_.end(), true) != last_.end(); }

 private:
  struct Readers {
    std::uint32_t plain_readers = 0, last_readers = 0;
    bool last = false;  // as its producer makes it
  };
  ValueId input(NodeId id, std::uint32_t i) const { return model_.edges[model_.nodes[id].first_edge + i]; }
  ValueId output(NodeId id, std::uint32_t o) const { return model_.nodes[id].first_output + o; }
  std::int64_t bytes(ValueId value) const { return byte_count(types_[value]); }
  // Of its reordering, if somebody wants one.
  std::int64_t cost(ValueId value) const {
    const auto& readers = values_[value];
    return (readers.last ? readers.plain_readers : readers.last_readers) > 0 ? bytes(value) : 0;
  }
  std::int64_t cost_around(NodeId id) const;
  void count_readers(NodeId id);
  void put(NodeId id, bool last);
  bool follows(NodeId id) const;
  void improve();

  const Lowered& graph_;
  const GraphModel& model_;
  const std::vector<tenon_type>& types_;
  std::vector<LayoutGroup> groups_;
  std::vector<bool> last_;
  std::vector<Readers> values_;
};

void LayoutChoice::count_readers(NodeId id) {
  const auto& node = model_.nodes[id];
  for (std::uint32_t i = 0; i < node.input_count; ++i)
    if (const auto value = input(id, i); value != none) ++values_[value].plain_readers;
}

void LayoutChoice::put(NodeId id, bool last) {
  if (last_[id] == last) return;
  last_[id] = last;
  for (const auto i : groups_[id].inputs) {
    auto& readers = values_[input(id, i)];
    --(last ? readers.plain_readers : readers.last_readers);
    ++(last ? readers.last_readers : readers.plain_readers);
  }
  for (const auto o : groups_[id].outputs) values_[output(id, o)].last = last;
}

// At first, as most bytes of what it reads lie.
bool LayoutChoice::follows(NodeId id) const {
  std::int64_t more = 0;
  for (const auto i : groups_[id].inputs) more += values_[input(id, i)].last ? bytes(input(id, i)) : -bytes(input(id, i));
  return more > 0;
}

std::int64_t LayoutChoice::cost_around(NodeId id) const {
  std::int64_t sum = 0;
  for (const auto i : groups_[id].inputs) sum += cost(input(id, i));
  for (const auto o : groups_[id].outputs) sum += cost(output(id, o));
  return sum;
}

// Nodes that only take the layout change where that leaves less to reorder, until none does; a few sweeps in both directions do.
void LayoutChoice::improve() {
  constexpr int most_sweeps = 6;
  bool changed = true;
  const auto look = [&](NodeId id) {
    if (groups_[id].wish != LayoutWish::takes) return;
    const auto before = cost_around(id);
    put(id, !last_[id]);
    if (cost_around(id) < before)
      changed = true;
    else
      put(id, !last_[id]);
  };
  for (int sweep = 0; sweep < most_sweeps && changed; ++sweep) {
    changed = false;
    if (sweep % 2 == 0)
      std::for_each(graph_.order.rbegin(), graph_.order.rend(), look);
    else
      std::for_each(graph_.order.begin(), graph_.order.end(), look);
  }
}

/// Puts the choice into a copy of the graph.
class Reordering {
 public:
  Reordering(Lowered& graph, const Kernels& kernels, std::vector<tenon_type>& types, const LayoutChoice& choice)
      : graph_(graph), kernels_(kernels), types_(types), choice_(choice), own_(std::make_shared<GraphSnapshot>()) {
    own_->model = graph.model();
    own_->binding.operators = graph.binding().operators;
    for (const auto& node : graph.binding().nodes) own_->binding.nodes.push_back({node.op, {}, node.info});
    use_ = static_cast<std::uint32_t>(own_->model.operators.size());
    const auto& op = reorder_operator();
    own_->model.operators.push_back({op.info->name, op.info->version, op.info, none});
    own_->binding.operators.push_back(&op);
    reordered_.assign(own_->model.values.size(), {none, none});
  }

  void run() {
    auto order = std::move(graph_.order);
    for (const auto id : order)
      if (choice_.is_last(id))
        for (const auto o : choice_.group(id).outputs) layout(own_->model.nodes[id].first_output + o) = TENON_LAYOUT_CHANNELS_LAST;
    graph_.order.clear();
    graph_.order.reserve(order.size());
    for (const auto id : order) {
      read_as_chosen(id);
      graph_.order.push_back(id);
    }
    for (auto& [name, value] : own_->model.outputs) value = in_layout(value, TENON_LAYOUT_PLAIN);
    graph_.graph = own_;
    for (const auto id : order)
      if (choice_.is_last(id)) choose_kernel(id);
  }

 private:
  std::uint8_t& layout(ValueId value) { return types_[value].layout; }

  void read_as_chosen(NodeId id) {
    const auto node = own_->model.nodes[id];
    const auto& group = choice_.group(id);
    for (std::uint32_t i = 0; i < node.input_count; ++i) {
      const auto value = own_->model.edges[node.first_edge + i];
      if (value == none) continue;
      const bool last = choice_.is_last(id) && std::find(group.inputs.begin(), group.inputs.end(), i) != group.inputs.end();
      const auto read = in_layout(value, last ? TENON_LAYOUT_CHANNELS_LAST : TENON_LAYOUT_PLAIN);
      own_->model.edges[node.first_edge + i] = read;
    }
  }

  // One reordering serves all who want it.
  ValueId in_layout(ValueId value, std::uint8_t wanted) {
    if (layout(value) == wanted) return value;
    auto& known = reordered_[value][wanted];
    return known != none ? known : known = add_node(value, wanted);
  }

  ValueId add_node(ValueId value, std::uint8_t wanted) {
    auto& model = own_->model;
    const auto id = static_cast<NodeId>(model.nodes.size());
    NodeRecord node;
    node.name = model.strings.intern(value_label(model, value) + (wanted == TENON_LAYOUT_PLAIN ? ".plain" : ".channels_last"));
    node.op = use_;
    node.first_edge = static_cast<std::uint32_t>(model.edges.size());
    node.input_count = 1;
    node.first_output = static_cast<ValueId>(model.values.size());
    node.output_count = 1;
    model.edges.push_back(value);
    model.nodes.push_back(node);
    own_->binding.nodes.push_back({&reorder_operator(), {}, reorder_operator().info});
    auto& record = model.values.emplace_back();
    record.producer = id;
    types_.push_back(types_[value]);
    types_.back().layout = wanted;
    record.type = types_.back();
    graph_.order.push_back(id);
    graph_.kernels.push_back(0);
    graph_.sparse.push_back(false);
    graph_.copy_of.push_back(none);
    graph_.devices.push_back(&cpu_device());
    graph_.places.push_back(&cpu_device());
    return node.first_output;
  }

  // Layouts may decide between variants.
  void choose_kernel(NodeId id) {
    const auto& set = kernels_.all_of(own_->model, id, *graph_.devices[id]);
    if (!set.chooses()) return;
    at_node(own_->model, id, [&] { graph_.kernels[id] = kernels_.choose(own_->model, own_->binding, id, *graph_.devices[id], types_); });
    graph_.variants.erase(id);
    const auto& kernel = set[graph_.kernels[id]];
    if (const auto* variant = kernel.op().variant_of(*kernel.table())) graph_.variants.emplace(id, variant->name);
  }

  Lowered& graph_;
  const Kernels& kernels_;
  std::vector<tenon_type>& types_;
  const LayoutChoice& choice_;
  std::shared_ptr<GraphSnapshot> own_;
  std::uint32_t use_ = 0;                          // of the reordering, into the graph's operators
  std::vector<std::array<ValueId, 2>> reordered_;  // of each value of the graph, by layout
};

}  // namespace

void choose_layouts(Lowered& graph, const Kernels& kernels, std::vector<tenon_type>& types) {
  const auto& binding = graph.binding();
  const auto differentiates = [&](NodeId id) { return graph.model().nodes[id].pass != Pass::forward; };
  const auto prefers = [&](NodeId id) { return binding.nodes[id].info->prefers_channels_last; };
  if (std::none_of(graph.order.begin(), graph.order.end(), prefers) || std::any_of(graph.order.begin(), graph.order.end(), differentiates))
    return;
  LayoutChoice choice(graph, kernels, types);
  choice.run();
  if (choice.any()) Reordering(graph, kernels, types, choice).run();
}

}  // namespace tenon

#include <algorithm>
#include <array>

#include "device/devices.hpp"
#include "graph/inference/inference.hpp"
#include "plan/layout_groups.hpp"
#include "plan/passes.hpp"
#include "plan/reorder.hpp"

namespace tenon {
namespace {

/// Chooses which nodes use channels-last for their group. A value has the layout of its producer's
/// group, plain if there is none; all readers that need the other layout share one reordering.
class LayoutChoice {
 public:
  LayoutChoice(const LoweredGraph& graph, const Kernels& kernels,
               const std::vector<tenon_type>& types)
      : graph_(graph),
        model_(graph.model()),
        types_(types),
        last_(model_.nodes.size()),
        values_(model_.values.size()) {
    groups_.resize(model_.nodes.size());
    for (const auto id : graph.order) groups_[id] = layout_group(graph, kernels, id, types);
    for (const auto id : graph.order) count_readers(id);
    for (const auto& [name, value] : model_.outputs) ++values_[value].plain_readers;
  }

  void run() {
    for (const auto id : graph_.order) {
      if (groups_[id].preference == LayoutPreference::prefers) set_layout(id, true);
      if (groups_[id].preference == LayoutPreference::accepts)
        set_layout(id, reads_mostly_channels_last(id));
    }
    improve();
  }

  const LayoutGroup& group(NodeId id) const { return groups_[id]; }
  bool is_last(NodeId id) const { return last_[id]; }
  bool any() const { return std::find(last_.begin(), last_.end(), true) != last_.end(); }

 private:
  struct Readers {
    std::uint32_t plain_readers = 0, last_readers = 0;
    bool last = false;  // the layout in which it is produced
  };
  ValueId input(NodeId id, std::uint32_t i) const {
    return model_.edges[model_.nodes[id].first_edge + i];
  }
  ValueId output(NodeId id, std::uint32_t o) const { return model_.nodes[id].first_output + o; }
  std::int64_t bytes(ValueId value) const { return byte_count(types_[value]); }
  // Bytes to reorder if a reader needs the other layout.
  std::int64_t cost(ValueId value) const {
    const auto& readers = values_[value];
    return (readers.last ? readers.plain_readers : readers.last_readers) > 0 ? bytes(value) : 0;
  }
  std::int64_t cost_around(NodeId id) const;
  void count_readers(NodeId id);
  void set_layout(NodeId id, bool last);
  bool reads_mostly_channels_last(NodeId id) const;
  void improve();

  const LoweredGraph& graph_;
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

void LayoutChoice::set_layout(NodeId id, bool last) {
  if (last_[id] == last) return;
  last_[id] = last;
  for (const auto i : groups_[id].inputs) {
    auto& readers = values_[input(id, i)];
    --(last ? readers.plain_readers : readers.last_readers);
    ++(last ? readers.last_readers : readers.plain_readers);
  }
  for (const auto o : groups_[id].outputs) values_[output(id, o)].last = last;
}

// The initial choice: the layout of most of the bytes that the node reads.
bool LayoutChoice::reads_mostly_channels_last(NodeId id) const {
  std::int64_t more = 0;
  for (const auto i : groups_[id].inputs)
    more += values_[input(id, i)].last ? bytes(input(id, i)) : -bytes(input(id, i));
  return more > 0;
}

std::int64_t LayoutChoice::cost_around(NodeId id) const {
  std::int64_t sum = 0;
  for (const auto i : groups_[id].inputs) sum += cost(input(id, i));
  for (const auto o : groups_[id].outputs) sum += cost(output(id, o));
  return sum;
}

// Flips nodes that merely accept channels-last while that reduces the bytes to reorder; a few
// sweeps in both directions suffice.
void LayoutChoice::improve() {
  constexpr int max_sweeps = 6;
  bool changed = true;
  const auto try_flip = [&](NodeId id) {
    if (groups_[id].preference != LayoutPreference::accepts) return;
    const auto before = cost_around(id);
    set_layout(id, !last_[id]);
    if (cost_around(id) < before)
      changed = true;
    else
      set_layout(id, !last_[id]);
  };
  for (int sweep = 0; sweep < max_sweeps && changed; ++sweep) {
    changed = false;
    if (sweep % 2 == 0)
      std::for_each(graph_.order.rbegin(), graph_.order.rend(), try_flip);
    else
      std::for_each(graph_.order.begin(), graph_.order.end(), try_flip);
  }
}

/// Applies the chosen layouts to the graph.
class Reordering {
 public:
  Reordering(PlanDraft& draft, const LayoutChoice& choice)
      : draft_(draft),
        graph_(draft.graph()),
        choice_(choice),
        model_(draft.edit().model),
        use_(draft.add_operator(reorder_operator(), reorder_operator().info)) {
    reordered_.assign(model_.values.size(), {none, none});
  }

  void run() {
    auto order = std::move(graph_.order);
    for (const auto id : order)
      if (choice_.is_last(id))
        for (const auto o : choice_.group(id).outputs)
          layout(model_.nodes[id].first_output + o) = TENON_LAYOUT_CHANNELS_LAST;
    graph_.order.clear();
    graph_.order.reserve(order.size());
    for (const auto id : order) {
      read_as_chosen(id);
      graph_.order.push_back(id);
    }
    for (auto& [name, value] : model_.outputs) value = in_layout(value, TENON_LAYOUT_PLAIN);
    for (const auto id : order)
      if (choice_.is_last(id)) choose_kernel(id);
  }

 private:
  std::uint8_t& layout(ValueId value) { return draft_.types()[value].layout; }

  void read_as_chosen(NodeId id) {
    const auto node = model_.nodes[id];
    const auto& group = choice_.group(id);
    for (std::uint32_t i = 0; i < node.input_count; ++i) {
      const auto value = model_.edges[node.first_edge + i];
      if (value == none) continue;
      const bool last = choice_.is_last(id) && std::find(group.inputs.begin(), group.inputs.end(),
                                                         i) != group.inputs.end();
      const auto read = in_layout(value, last ? TENON_LAYOUT_CHANNELS_LAST : TENON_LAYOUT_PLAIN);
      model_.edges[node.first_edge + i] = read;
    }
  }

  // One reordering serves all readers that need it.
  ValueId in_layout(ValueId value, std::uint8_t needed) {
    if (layout(value) == needed) return value;
    auto& known = reordered_[value][needed];
    return known != none ? known : known = add_node(value, needed);
  }

  ValueId add_node(ValueId value, std::uint8_t needed) {
    const auto name =
        value_label(model_, value) + (needed == TENON_LAYOUT_PLAIN ? ".plain" : ".channels_last");
    const auto id = draft_.add_node(name, use_, std::span(&value, 1), cpu_device());
    auto type = draft_.types()[value];
    type.layout = needed;
    graph_.order.push_back(id);
    return draft_.add_output(id, type);
  }

  // The layout may select another kernel variant.
  void choose_kernel(NodeId id) {
    const auto& kernels = draft_.kernels;
    const auto& set = kernels.all_of(model_, id, *graph_.devices[id]);
    if (!set.depends_on_types()) return;
    at_node(model_, id, [&] {
      graph_.kernels[id] =
          kernels.choose(model_, graph_.binding(), id, *graph_.devices[id], draft_.types());
    });
    graph_.variants.erase(id);
    const auto& kernel = set[graph_.kernels[id]];
    if (const auto* variant = kernel.op().variant_of(*kernel.table()))
      graph_.variants.emplace(id, variant->name);
  }

  PlanDraft& draft_;
  LoweredGraph& graph_;
  const LayoutChoice& choice_;
  GraphModel& model_;
  // the reordering operator, in the graph's operators
  const std::uint32_t use_;
  std::vector<std::array<ValueId, 2>> reordered_;  // of each value of the graph, by layout
};

}  // namespace

// Layouts are chosen for the whole graph: nodes that prefer channels-last get it, and those that
// merely accept it follow if that leaves fewer bytes to reorder. Inputs, variables, states,
// constants and outputs of the graph stay plain, and so does everything on GPUs, in worker
// processes, and in graphs with gradients.
void choose_layouts(PlanDraft& draft) {
  if (draft.request.optimize != Optimize::full || draft.request.training) return;
  const auto& graph = draft.graph();
  const auto differentiates = [&](NodeId id) {
    return graph.model().nodes[id].pass != Pass::forward;
  };
  const auto prefers = [&](NodeId id) {
    return graph.binding().nodes[id].info->prefers_channels_last;
  };
  if (std::none_of(graph.order.begin(), graph.order.end(), prefers) ||
      std::any_of(graph.order.begin(), graph.order.end(), differentiates))
    return;
  LayoutChoice choice(graph, draft.kernels, draft.types());
  choice.run();
  if (choice.any()) Reordering(draft, choice).run();
}

}  // namespace tenon

#include "plan/layout_groups.hpp"

#include <algorithm>

#include "graph/inference/inference.hpp"
#include "graph/operators/operator_use.hpp"
#include "tensor/channels_last.hpp"

namespace tenon {
namespace {

bool fits(const tenon_type& type) {
  return type.storage == TENON_DENSE && is_known(type) && may_be_channels_last(type.rank) &&
         byte_count(type) > 0;
}

bool same_dims_as(const tenon_type& left, const tenon_type& right) {
  return left.rank == right.rank && std::equal(left.dims, left.dims + left.rank, right.dims);
}

/// Whether the shape is [C, 1, 1], [1, C, 1, 1] or similar, relative to a value of this rank.
bool is_per_channel(const tenon_type& type, int rank) {
  if (type.storage != TENON_DENSE || type.rank < 0 || type.rank > rank) return false;
  for (int axis = 0; axis < type.rank; ++axis)
    if (type.dims[axis] != 1 && axis + rank - type.rank != 1) return false;
  return true;
}

class Grouping {
 public:
  Grouping(const LoweredGraph& graph, NodeId id, const std::vector<tenon_type>& types)
      : graph_(graph),
        node_(graph.model().nodes[id]),
        info_(*graph.binding().nodes[id].info),
        types_(types) {}

  LayoutGroup elementwise() {
    const auto& shape = types_[node_.first_output];
    if (node_.output_count != 1 || !fits(shape)) return {};
    LayoutGroup group{LayoutPreference::accepts, {}, {0}};
    for (std::uint32_t i = 0; i < node_.input_count; ++i) {
      const auto value = input(i);
      if (value == none) continue;
      if (types_[value].storage == TENON_DENSE && same_dims_as(types_[value], shape))
        group.inputs.push_back(i);
      else if (!is_per_channel(types_[value], shape.rank))
        return {};
    }
    return group.inputs.empty() ? LayoutGroup{} : group;
  }

  LayoutGroup declared() {
    LayoutGroup group{
        info_.prefers_channels_last ? LayoutPreference::prefers : LayoutPreference::accepts,
        {},
        {}};
    for (std::uint32_t i = 0; i < node_.input_count; ++i)
      if (input(i) != none && info_.channels_last_input[declared_input(info_, i)] &&
          !add(group.inputs, i, input(i)))
        return {};
    std::uint32_t next = 0;
    for (std::size_t o = 0; o < info_.outputs.size(); ++o)
      for (auto left = count_of(graph_.model(), node_, info_.outputs[o]); left > 0; --left, ++next)
        if (info_.channels_last_output[o] && !add(group.outputs, next, node_.first_output + next))
          return {};
    return group;
  }

 private:
  ValueId input(std::uint32_t i) const { return graph_.model().edges[node_.first_edge + i]; }
  bool add(std::vector<std::uint32_t>& indices, std::uint32_t index, ValueId value) const {
    indices.push_back(index);
    return fits(types_[value]);
  }

  const LoweredGraph& graph_;
  const NodeRecord& node_;
  const OperatorInfo& info_;
  const std::vector<tenon_type>& types_;
};

}  // namespace

LayoutGroup layout_group(const LoweredGraph& graph, const Kernels& kernels, NodeId id,
                         const std::vector<tenon_type>& types) {
  const auto& node = graph.model().nodes[id];
  const auto& info = *graph.binding().nodes[id].info;
  const bool may = info.elementwise || !info.channels_last.empty();
  if (!may || node.pass != Pass::forward || graph.sparse[id] || graph.copies_at(id) ||
      !graph.devices[id]->is_cpu() || graph.worker_of(id) != nullptr)
    return {};
  Grouping grouping(graph, id, types);
  auto group = info.elementwise ? grouping.elementwise() : grouping.declared();
  const auto& set = kernels.all_of(graph.model(), id, *graph.devices[id]);
  if (group.preference == LayoutPreference::plain || !set.depends_on_types()) return group;
  CallTypes call_types;
  gather_types(graph.model(), node, types, call_types);
  for (const auto i : group.inputs) call_types.inputs[i].layout = TENON_LAYOUT_CHANNELS_LAST;
  for (const auto o : group.outputs) call_types.outputs[o].layout = TENON_LAYOUT_CHANNELS_LAST;
  return set.find(info, call_types) < set.size() ? group : LayoutGroup{};
}

}  // namespace tenon

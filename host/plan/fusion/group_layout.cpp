#include "plan/fusion/group_layout.hpp"

#include <algorithm>
#include <unordered_map>

#include "device/memory.hpp"
#include "plan/fusion/fused_group.hpp"

namespace tenon {
namespace {

class GroupLayoutFinder {
 public:
  GroupLayoutFinder(const GraphModel& model, const Binding& binding,
                    std::span<const tenon_type> types, std::span<const std::uint32_t> readers,
                    const FoundGroup& found)
      : model_(model), binding_(binding), types_(types), readers_(readers), found_(found) {
    values_.group.nodes = found.nodes;
    values_.group.blocks = found.blocks;
    for (const auto& sum : found.sums) sums_[sum.left] = sums_[sum.right] = sum.sum;
    for (const auto& sum : found.sums) added_[sum.right] = true;
  }

  GroupLayout run() {
    find_uses();
    for (std::uint32_t i = 0; i < found_.nodes.size(); ++i) assign_values_of(i);
    find_inplace();
    return std::move(values_);
  }

 private:
  /// The use of a value in the group; both sides of a folded sum share one. Nodes are indices in
  /// the group.
  struct Use {
    std::uint32_t tensor = none;
    std::uint32_t readers = 0;  // within the group
    std::uint32_t first_writer = none, last_reader = none, last = 0;
    std::uint32_t edges_of_last = 0;  // number of edges by which the last reader reads it
  };
  using Where = GroupTensor::Where;

  const NodeRecord& node(std::uint32_t i) const { return model_.nodes[found_.nodes[i]]; }
  ValueId root(ValueId value) const {
    for (auto found = sums_.find(value); found != sums_.end(); found = sums_.find(value))
      value = found->second;
    return value;
  }
  bool is_computed(const NodeRecord& node, ValueId value) const {
    return node.pass != Pass::backward || readers_[value] > 0;
  }
  bool escapes(ValueId value, const Use& use) const { return readers_[value] > use.readers; }
  std::span<const std::pair<int, int>> pairs_of(std::uint32_t i) const {
    const auto& info = *binding_.nodes[found_.nodes[i]].info;
    return node(i).pass == Pass::backward ? info.backward_inplace : info.inplace;
  }

  void find_uses();
  void assign_values_of(std::uint32_t i);
  std::uint32_t add_tensor(ValueId value, Where where, std::uint32_t index);
  std::uint32_t assign_output(std::uint32_t i, std::uint32_t output, std::uint8_t& write);
  bool can_reuse(std::uint32_t i, std::uint32_t output, ValueId source) const;
  void find_inplace();

  const GraphModel& model_;
  const Binding& binding_;
  const std::span<const tenon_type> types_;
  const std::span<const std::uint32_t> readers_;
  const FoundGroup& found_;
  GroupLayout values_;
  std::unordered_map<ValueId, ValueId> sums_;  // each side of a sum -> the sum
  std::unordered_map<ValueId, bool> added_;    // right sides of sums
  std::unordered_map<ValueId, Use> uses_;
  std::vector<std::uint32_t> free_slots_;
};

void GroupLayoutFinder::find_uses() {
  for (std::uint32_t i = 0; i < found_.nodes.size(); ++i) {
    const auto& each = node(i);
    for (std::uint32_t k = 0; k < each.input_count; ++k) {
      const auto value = model_.edges[each.first_edge + k];
      if (value == none) continue;
      auto& use = uses_[root(value)];
      use.edges_of_last = use.last_reader == i ? use.edges_of_last + 1 : 1;
      use.last_reader = use.last = i;
      ++use.readers;
    }
    for (auto value = each.first_output; value < each.first_output + each.output_count; ++value) {
      if (!is_computed(each, value)) continue;
      auto& use = uses_[root(value)];
      use.last = i;
      if (use.first_writer == none) use.first_writer = i;
    }
  }
}

void GroupLayoutFinder::assign_values_of(std::uint32_t i) {
  auto& group = values_.group;
  const auto& each = node(i);
  for (std::uint32_t k = 0; k < each.input_count; ++k) {
    const auto value = model_.edges[each.first_edge + k];
    if (value == none) {
      group.operands.push_back(none);
      continue;
    }
    auto& use = uses_.at(root(value));
    if (use.tensor == none) {  // from outside the group
      use.tensor =
          add_tensor(value, Where::input, static_cast<std::uint32_t>(values_.inputs.size()));
      values_.inputs.push_back(value);
    }
    group.operands.push_back(use.tensor);
  }
  const auto first = group.operands.end() - group.operands.begin() - each.input_count;
  for (std::uint32_t k = 0; k < each.output_count; ++k) {
    std::uint8_t write = TENON_WRITE_NONE;
    const auto tensor =
        is_computed(each, each.first_output + k) ? assign_output(i, k, write) : none;
    group.operands.push_back(tensor);
    group.writes.push_back(write);
  }
  // slots no longer used; a slot that was reused is not among them
  std::vector<std::uint32_t> released;
  for (auto at = group.operands.begin() + first; at != group.operands.end(); ++at)
    if (*at != none && group.tensors[*at].where == Where::scratch)
      released.push_back(group.tensors[*at].index);
  for (const auto& [value, use] : uses_)
    if (use.tensor != none && use.last > i)
      std::erase(released, group.tensors[use.tensor].where == Where::scratch
                               ? group.tensors[use.tensor].index
                               : none);
  std::sort(released.begin(), released.end());
  released.erase(std::unique(released.begin(), released.end()), released.end());
  free_slots_.insert(free_slots_.end(), released.begin(), released.end());
}

std::uint32_t GroupLayoutFinder::add_tensor(ValueId value, Where where, std::uint32_t index) {
  auto& group = values_.group;
  const auto extent = *extent_in(types_[value], found_.whole);
  group.tensors.push_back({where, extent, types_[value].dtype, index});
  if (where == Where::scratch) {
    group.scratch_slots = std::max(group.scratch_slots, index + 1);
    const auto bytes = group.blocks.size *
                       static_cast<std::int64_t>(size_of(static_cast<DType>(types_[value].dtype)));
    group.slot_bytes = std::max(group.slot_bytes, align_up(static_cast<std::uint64_t>(bytes)));
  }
  return static_cast<std::uint32_t>(group.tensors.size() - 1);
}

// Returns where an output goes: it may reuse the scratch slot of an input that has no later reader.
std::uint32_t GroupLayoutFinder::assign_output(std::uint32_t i, std::uint32_t output,
                                               std::uint8_t& write) {
  auto& group = values_.group;
  const auto& each = node(i);
  const auto value = each.first_output + output;
  auto& use = uses_.at(root(value));
  write = added_.contains(value) ? TENON_WRITE_ADD : TENON_WRITE_TO;
  if (use.tensor != none) return use.tensor;  // the left side of the sum is already there
  if (escapes(root(value), use)) {
    use.tensor =
        add_tensor(root(value), Where::output, static_cast<std::uint32_t>(values_.outputs.size()));
    values_.outputs.push_back(root(value));
    const auto& info = *binding_.nodes[found_.nodes[i]].info;
    group.adds.push_back(info.accumulates && use.readers == 0);
    return use.tensor;
  }
  for (const auto& [input, target] : pairs_of(i)) {
    const auto k = static_cast<std::uint32_t>(input);
    if (static_cast<std::uint32_t>(target) != output || k >= each.input_count) continue;
    const auto source = model_.edges[each.first_edge + k];
    if (source == none || !can_reuse(i, output, root(source))) continue;
    write = TENON_WRITE_IN_PLACE;
    return use.tensor = add_tensor(root(value), Where::scratch,
                                   group.tensors[uses_.at(root(source)).tensor].index);
  }
  auto slot = group.scratch_slots;
  if (!free_slots_.empty()) {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  return use.tensor = add_tensor(root(value), Where::scratch, slot);
}

bool GroupLayoutFinder::can_reuse(std::uint32_t i, std::uint32_t output, ValueId source) const {
  const auto& group = values_.group;
  const auto& use = uses_.at(source);
  if (use.tensor == none || group.tensors[use.tensor].where != Where::scratch || use.last != i ||
      use.edges_of_last != 1)
    return false;
  if (types_[source].dtype != types_[node(i).first_output + output].dtype) return false;
  const auto slot = group.tensors[use.tensor].index;
  return std::none_of(group.operands.end() - output, group.operands.end(),
                      [&](std::uint32_t earlier) {
                        return earlier != none && group.tensors[earlier].where == Where::scratch &&
                               group.tensors[earlier].index == slot;
                      });
}

// An output may reuse the memory of an input from outside if no node of the group reads the input
// after the output is written.
void GroupLayoutFinder::find_inplace() {
  for (std::uint32_t out = 0; out < values_.outputs.size(); ++out) {
    const auto writer = uses_.at(values_.outputs[out]).first_writer;
    for (std::uint32_t in = 0; in < values_.inputs.size(); ++in) {
      const auto& use = uses_.at(values_.inputs[in]);
      if (values_.group.tensors[use.tensor].extent != GroupTensor::Extent::whole ||
          use.last_reader > writer)
        continue;
      const auto& each = node(writer);
      const auto* edges = model_.edges.data() + each.first_edge;
      const bool declared =
          std::any_of(pairs_of(writer).begin(), pairs_of(writer).end(), [&](const auto& pair) {
            const auto k = static_cast<std::uint32_t>(pair.first);
            return k < each.input_count && edges[k] == values_.inputs[in] &&
                   root(each.first_output + static_cast<std::uint32_t>(pair.second)) ==
                       values_.outputs[out];
          });
      if (use.last_reader < writer || (declared && use.edges_of_last == 1))
        values_.inplace.emplace_back(static_cast<int>(in), static_cast<int>(out));
    }
  }
}

}  // namespace

GroupLayout group_layout(const GraphModel& model, const Binding& binding,
                         std::span<const tenon_type> types, std::span<const std::uint32_t> readers,
                         const FoundGroup& found) {
  return GroupLayoutFinder(model, binding, types, readers, found).run();
}

}  // namespace tenon

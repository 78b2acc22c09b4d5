#include "plan/fusion/find_groups.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "plan/fusion/fused_group.hpp"
#include "tensor/kernel_function.hpp"

namespace tenon {
namespace {

constexpr std::size_t max_nodes = 32;

class GroupFinder {
 public:
  GroupFinder(const LoweredGraph& graph, const Kernels& kernels, std::span<const tenon_type> types,
              const Readers& readers)
      : graph_(graph),
        model_(graph.model()),
        kernels_(kernels),
        types_(types),
        readers_(readers),
        remaining_readers_(readers.all) {}

  std::vector<FoundGroup> run(std::span<const NodeId> order) {
    for (const auto& sum : fuse_sums(graph_, types_, order, readers_.all)) {
      sums_.emplace(sum.node, sum);
      left_sides_.emplace(sum.right, sum.left);
    }
    group_of_.assign(model_.nodes.size(), none);
    for (const auto id : order) visit(id);
    std::erase_if(groups_, [](const Group& group) { return group.nodes.size() < 2; });
    std::sort(groups_.begin(), groups_.end(),
              [](const Group& one, const Group& other) { return one.last < other.last; });
    std::vector<FoundGroup> found;
    for (auto& group : groups_) {
      std::sort(group.nodes.begin(), group.nodes.end());
      for (const auto& [position, id] : group.nodes) group.found.nodes.push_back(id);
      found.push_back(std::move(group.found));
    }
    return found;
  }

 private:
  struct Group {
    FoundGroup found;
    // with their positions in the execution order
    std::vector<std::pair<std::uint32_t, NodeId>> nodes;
    std::uint32_t last = 0;  // position of its last node
    // no node outside has needed its values yet
    bool open = true;
  };
  using Extent = GroupTensor::Extent;

  void visit(NodeId id);
  bool take_sum(const FusedSum& sum);
  void join(NodeId id, const tenon_type& whole, std::int64_t row);
  std::optional<std::int64_t> row_of(NodeId id, const tenon_type& whole) const;
  const tenon_type* whole_of(NodeId id) const;
  bool supports_blocks(NodeId id) const;
  bool is_on_cpu(ValueId value) const {
    return types_[value].storage == TENON_DENSE && graph_.value_devices[value]->is_cpu();
  }
  bool may_wait(const Group& group) const;
  std::uint32_t merged(std::uint32_t one, std::uint32_t other);
  std::uint32_t group_of(ValueId value) const {
    const auto producer = model_.values[value].producer;
    return producer == none ? none : group_of_[producer];
  }
  /// Calls visit(value) for each input of the node and for each value that its outputs are
  /// accumulated into.
  template <class Visit>
  void each_read(NodeId id, Visit visit) const;

  const LoweredGraph& graph_;
  const GraphModel& model_;
  const Kernels& kernels_;
  const std::span<const tenon_type> types_;
  const Readers& readers_;
  std::vector<std::uint32_t> remaining_readers_;     // of each value: readers not visited yet
  std::unordered_map<NodeId, FusedSum> sums_;        // by their nodes, which do not run
  std::unordered_map<ValueId, ValueId> left_sides_;  // of fused sums: right side -> left side
  std::vector<Group> groups_;
  std::vector<std::uint32_t> group_of_;  // of each node
  std::uint32_t position_ = 0;           // position of the current node among those that run
};

template <class Visit>
void GroupFinder::each_read(NodeId id, Visit visit) const {
  const auto& node = model_.nodes[id];
  for (std::uint32_t i = 0; i < node.input_count; ++i)
    if (const auto value = model_.edges[node.first_edge + i]; value != none) visit(value);
  if (left_sides_.empty()) return;
  for (auto value = node.first_output; value < node.first_output + node.output_count; ++value)
    if (const auto found = left_sides_.find(value); found != left_sides_.end())
      visit(found->second);
}

void GroupFinder::visit(NodeId id) {
  const auto sum = sums_.find(id);
  const bool runs = sum == sums_.end();
  if (runs || !take_sum(sum->second)) {
    const auto* whole = runs ? whole_of(id) : nullptr;
    const auto row = whole == nullptr ? std::nullopt : row_of(id, *whole);
    if (row)
      join(id, *whole, *row);
    else
      each_read(id, [&](ValueId value) {
        if (const auto group = group_of(value); group != none) groups_[group].open = false;
      });
  }
  const auto& node = model_.nodes[id];
  for (std::uint32_t i = 0; i < node.input_count; ++i)
    if (const auto value = model_.edges[node.first_edge + i]; value != none)
      --remaining_readers_[value];
  if (runs) ++position_;
}

// If both sides belong to the same group, the sum joins it.
bool GroupFinder::take_sum(const FusedSum& sum) {
  const auto group = group_of(sum.left);
  if (group == none || group != group_of(sum.right)) return false;
  groups_[group].found.sums.push_back(sum);
  group_of_[sum.node] = group;
  return true;
}

// Merges all groups whose values the node reads, as far as they fit; closes the others.
void GroupFinder::join(NodeId id, const tenon_type& whole, std::int64_t row) {
  std::uint32_t own = none;
  each_read(id, [&](ValueId value) {
    const auto read = group_of(value);
    if (read == none || read == own || !groups_[read].open) return;
    const auto& group = groups_[read];
    const auto rows = std::max(row, group.found.blocks.row);
    const auto nodes = group.nodes.size() + (own == none ? 0 : groups_[own].nodes.size());
    if (nodes < max_nodes &&
        (row == 0 || group.found.blocks.row == 0 || row == group.found.blocks.row) &&
        extent_in(group.found.whole, whole) == Extent::whole && may_wait(group)) {
      row = rows;
      own = own == none ? read : merged(own, read);
    } else {
      groups_[read].open = false;
    }
  });
  if (own == none) {
    own = static_cast<std::uint32_t>(groups_.size());
    groups_.emplace_back().found.whole = whole;
  }
  auto& group = groups_[own];
  group.nodes.emplace_back(position_, id);
  group.found.blocks = *blocks_of(element_count(whole), row);
  group.last = position_;
  group_of_[id] = own;
}

std::uint32_t GroupFinder::merged(std::uint32_t one, std::uint32_t other) {
  if (groups_[one].nodes.size() < groups_[other].nodes.size()) std::swap(one, other);
  auto &to = groups_[one], &from = groups_[other];
  for (const auto& [position, id] : from.nodes) group_of_[id] = one;
  for (const auto& sum : from.found.sums) group_of_[sum.node] = one;
  to.nodes.insert(to.nodes.end(), from.nodes.begin(), from.nodes.end());
  to.found.sums.insert(to.found.sums.end(), from.found.sums.begin(), from.found.sums.end());
  from.nodes.clear();
  from.open = false;
  return one;
}

// Whether delaying the group until now keeps no more memory alive: its inputs then stay in memory
// instead of its values.
bool GroupFinder::may_wait(const Group& group) const {
  if (group.last + 1 == position_) return true;
  const auto in_arena = [&](ValueId value) {
    return model_.values[value].role == Role::output && readers_.output_names[value] == 0;
  };
  std::int64_t bytes = 0;  // memory added by delaying
  std::vector<ValueId> counted;
  for (const auto& [position, id] : group.nodes) {
    const auto own = group_of_[id];
    const auto& node = model_.nodes[id];
    for (auto value = node.first_output; value < node.first_output + node.output_count; ++value)
      if (in_arena(value) && remaining_readers_[value] > 0) bytes -= byte_count(types_[value]);
    each_read(id, [&](ValueId value) {
      if (!in_arena(value) || remaining_readers_[value] > 0 || group_of(value) == own) return;
      if (std::find(counted.begin(), counted.end(), value) != counted.end()) return;
      counted.push_back(value);
      bytes += byte_count(types_[value]);
    });
  }
  return bytes <= 0;
}

// Returns the common type of the node's outputs if the node can be fused, else null.
const tenon_type* GroupFinder::whole_of(NodeId id) const {
  const auto& node = model_.nodes[id];
  const tenon_type* whole = nullptr;
  for (auto value = node.first_output; value < node.first_output + node.output_count; ++value) {
    if (node.pass == Pass::backward && readers_.all[value] == 0) continue;
    const auto& type = types_[value];
    if (!is_known(type) || element_count(type) < min_fused_elements || !is_on_cpu(value))
      return nullptr;
    if (whole != nullptr && extent_in(type, *whole) != Extent::whole) return nullptr;
    if (whole == nullptr) whole = &type;
  }
  return whole != nullptr && supports_blocks(id) ? whole : nullptr;
}

bool GroupFinder::supports_blocks(NodeId id) const {
  const auto& node = model_.nodes[id];
  if (graph_.copies_at(id) || graph_.sparse[id] || !graph_.devices[id]->is_cpu() ||
      graph_.worker_of(id) != nullptr)
    return false;
  if (forward_of(model_, node).state_count > 0 || graph_.binding().nodes[id].info->random)
    return false;
  const auto* table = graph_.kernel_of(id, kernels_).table();
  if (table == nullptr || (table->traits & TENON_TRAIT_BLOCKWISE) == 0 ||
      table->workspace != nullptr)
    return false;
  return function_of(*table, dispatch_of(node.pass == Pass::backward, false)) != nullptr;
}

// Returns the length of the rows that the node reads, 0 if none; nullopt if it reads a value that
// cannot be split into blocks.
std::optional<std::int64_t> GroupFinder::row_of(NodeId id, const tenon_type& whole) const {
  const auto& node = model_.nodes[id];
  const auto needed =
      node.pass == Pass::backward ? forward_of(model_, node).output_count : node.input_count;
  std::int64_t row = 0;
  for (std::uint32_t i = 0; i < node.input_count; ++i) {
    const auto value = model_.edges[node.first_edge + i];
    if (value == none && i < needed) return std::nullopt;
    if (value == none) continue;
    if (!is_known(types_[value]) || !is_on_cpu(value) || model_.values[value].role == Role::state)
      return std::nullopt;
    const auto extent = extent_in(types_[value], whole);
    if (!extent || (i < needed && node.pass == Pass::backward && *extent != Extent::whole))
      return std::nullopt;
    if (*extent != Extent::row) continue;
    const auto length = element_count(types_[value]);
    if (row != 0 && row != length) return std::nullopt;
    row = length;
  }
  return blocks_of(element_count(whole), row) ? std::optional(row) : std::nullopt;
}

}  // namespace

std::vector<FoundGroup> find_groups(const LoweredGraph& graph, const Kernels& kernels,
                                    std::span<const tenon_type> types,
                                    std::span<const NodeId> order, const Readers& readers) {
  return GroupFinder(graph, kernels, types, readers).run(order);
}

}  // namespace tenon

// Which values share memory, and how long each block of it is needed.
#include <algorithm>

#include "graph/inference.hpp"
#include "plan/plan.hpp"
#include "plan/sums.hpp"

namespace tenon {
namespace {

bool same_dims(const tenon_type& left, const tenon_type& right) {
  return left.rank == right.rank && std::equal(left.dims, left.dims + left.rank, right.dims);
}

}  // namespace

// A folded sum and its two sides are one piece of memory; the sum stands for all three.
void Plan::fold(const GraphModel& model, const Binding& binding) {
  root_.resize(model.values.size());
  for (ValueId value = 0; value < root_.size(); ++value) root_[value] = value;
  adds_.assign(model.values.size(), false);
  std::vector<bool> skipped(model.nodes.size());
  auto sums = fold_sums(model, binding, order_, readers_);
  std::reverse(sums.begin(), sums.end());  // later sums first: theirs is the memory of earlier ones
  for (const auto& [node, left, right, sum] : sums) {
    skipped[node] = true;
    root_[left] = root_[right] = root_[sum];
    adds_[right] = true;
    if (given_out_[root_[sum]])
      for (const auto member : {left, right, sum}) members_.emplace_back(root_[sum], member);
  }
  std::erase_if(order_, [&](NodeId id) { return skipped[id]; });
}

// Of a piece of memory's owner: the last step that reads any of the values in it.
void Plan::find_last_uses(const GraphModel& model) {
  last_use_.assign(model.values.size(), none);
  for (std::uint32_t step = 0; step < order_.size(); ++step) {
    const auto& node = model.nodes[order_[step]];
    for (std::uint32_t i = 0; i < node.output_count; ++i) last_use_[root_[node.first_output + i]] = step;
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (const auto value = model.edges[node.first_edge + i]; value != none) last_use_[root_[value]] = step;
  }
}

// A variable's new value goes straight into its memory where the operator says it may and nobody reads the old one later.
void Plan::find_updates(const GraphModel& model, const Binding& binding) {
  const auto in_place = [&](ValueId variable, ValueId value) {
    const auto producer = model.values[value].producer;
    if (producer == none || readers_[value] != 1 || root_[value] != value) return false;
    const auto& node = model.nodes[producer];
    if (node.pass != Pass::forward) return false;
    const auto* edges = model.edges.data() + node.first_edge;
    if (std::count(edges, edges + node.input_count, variable) != 1 || order_[last_use_[variable]] != producer) return false;
    const auto& pairs = binding.nodes[producer].op->info->inplace;
    return std::any_of(pairs.begin(), pairs.end(),
                       [&](const auto& pair) {
                         const auto input = static_cast<std::uint32_t>(pair.first);
                         return input < node.input_count && edges[input] == variable &&
                                static_cast<std::uint32_t>(pair.second) == model.values[value].index;
                       }) &&
           types_[variable].dtype == types_[value].dtype && same_dims(types_[variable], types_[value]);
  };
  for (const auto& [variable, value] : model.updates) {
    if (in_place(variable, value)) {
      updated_.emplace(value, variable);
    } else {
      copies_.emplace_back(variable, value);
      if (model.values[value].producer != none) last_use_[root_[value]] = static_cast<std::uint32_t>(order_.size() - 1);
    }
  }
}

void Plan::find_blocks(const GraphModel& model, const Binding& binding) {
  block_of_.assign(model.values.size(), none);
  for (std::uint32_t step = 0; step < order_.size(); ++step) {
    const auto& node = model.nodes[order_[step]];
    const auto& info = *binding.nodes[order_[step]].op->info;
    for (std::uint32_t i = 0; i < node.output_count; ++i) writes_.push_back(place_output(model, info, step, i));
  }
}

// Finds memory for an output; how it is written.
std::uint8_t Plan::place_output(const GraphModel& model, const OperatorInfo& info, std::uint32_t step, std::uint32_t output) {
  const auto& node = model.nodes[order_[step]];
  const auto value = node.first_output + output;
  const auto root = root_[value];
  if (node.pass == Pass::backward && readers_[value] == 0) return TENON_WRITE_NONE;
  if (updated_.contains(value)) return TENON_WRITE_IN_PLACE;
  if (adds_[value]) {
    block_of_[value] = block_of_[root];
    return TENON_WRITE_ADD;
  }
  if (given_out_[root]) {
    given_out_writes_.emplace(root, GivenOut{writes_.size(), info.accumulates && inside_readers(model, root) == 0});
    return TENON_WRITE_TO;
  }
  if (reuse_input(model, info, step, node, output)) return TENON_WRITE_IN_PLACE;
  block_of_[value] = block_of_[root] = static_cast<std::uint32_t>(blocks_.size());
  blocks_.push_back({byte_count(types_[value]), step, last_use_[root]});
  return TENON_WRITE_TO;
}

// Readers besides the names it is given out by.
std::uint32_t Plan::inside_readers(const GraphModel& model, ValueId value) const {
  const auto names = std::count_if(model.outputs.begin(), model.outputs.end(), [&](const auto& output) { return output.second == value; });
  return readers_[value] - static_cast<std::uint32_t>(names);
}

// An output may take over the memory of an input that it was declared in place with, that nobody reads later, and that is the plan's own.
// Of a backward node these are the gradients: its first inputs are those of its origin's outputs.
bool Plan::reuse_input(const GraphModel& model, const OperatorInfo& info, std::uint32_t step, const NodeRecord& node,
                       std::uint32_t output) {
  const auto* edges = model.edges.data() + node.first_edge;
  const auto value = node.first_output + output;
  for (const auto& [input, wanted] : node.pass == Pass::backward ? info.backward_inplace : info.inplace) {
    const auto i = static_cast<std::uint32_t>(input);
    if (static_cast<std::uint32_t>(wanted) != output || i >= node.input_count || edges[i] == none) continue;
    const auto source = root_[edges[i]];
    if (block_of_[source] == none || last_use_[source] != step || std::count(edges, edges + node.input_count, edges[i]) != 1) continue;
    const auto &from = types_[source], &to = types_[value];
    if (from.dtype != to.dtype || byte_count(from) != byte_count(to)) continue;
    if (info.elementwise && !same_dims(from, to)) continue;
    auto& block = blocks_[block_of_[source]];
    const auto* earlier = block_of_.data() + node.first_output;
    if (std::count(earlier, earlier + output, block_of_[source]) != 0) continue;  // another output has taken it
    block_of_[value] = block_of_[root_[value]] = block_of_[source];
    block.last = last_use_[root_[value]];
    return true;
  }
  return false;
}

void Plan::add_workspaces(const GraphModel& model, const Binding& binding, const Kernels& kernels) {
  OperatorTypes types;
  workspace_block_.assign(order_.size(), none);
  workspace_bytes_.assign(order_.size(), 0);
  for (std::uint32_t step = 0; step < order_.size(); ++step) {
    const auto id = order_[step];
    const auto& node = model.nodes[id];
    const bool backward = node.pass == Pass::backward;
    const auto& kernel = kernels.of(model, id);
    if (kernel.table()->workspace == nullptr) continue;
    gather_types(model, forward_of(model, node), TypeTable(types_), types);
    workspace_bytes_[step] = at_node(
        model, id, [&] { return workspace_bytes(*binding.nodes[id].op->info, kernel, backward ? TENON_BACKWARD : TENON_FORWARD, types); });
    if (workspace_bytes_[step] == 0) continue;
    workspace_block_[step] = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back({static_cast<std::int64_t>(workspace_bytes_[step]), step, step});
  }
}

}  // namespace tenon

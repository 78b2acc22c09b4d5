#include "plan/memory/fused_sums.hpp"

#include <algorithm>
#include <numeric>

#include "plan/passes.hpp"
#include "plugin/operator_name.hpp"

namespace tenon {
namespace {

std::vector<bool> find_sums(const GraphModel& model) {
  std::vector<bool> sums;
  for (const auto& use : model.operators)
    sums.push_back(use.info->space == bundled_space && use.info->name == "sum_gradients");
  return sums;
}

}  // namespace

std::vector<FusedSum> fuse_sums(const LoweredGraph& graph, std::span<const tenon_type> types,
                                std::span<const NodeId> order,
                                std::span<const std::uint32_t> readers) {
  const auto& model = graph.model();
  std::vector<FusedSum> sums;
  const auto adds = find_sums(model);
  const auto is_sum = [&](const NodeRecord& node) {
    return node.pass != Pass::backward && adds[node.op];
  };
  for (const auto id : order) {
    const auto& node = model.nodes[id];
    if (!is_sum(node)) continue;
    const FusedSum sum{id, model.edges[node.first_edge], model.edges[node.first_edge + 1],
                       node.first_output};
    const auto left = model.values[sum.left].producer, right = model.values[sum.right].producer;
    if (left == none || right == none || graph.last_of(left) >= graph.last_of(right)) continue;
    if (readers[sum.left] != 1 || readers[sum.right] != 1 ||
        !graph.accumulates(right, model.values[sum.right].index))
      continue;
    if (types[sum.left].storage != TENON_DENSE || types[sum.right].storage != TENON_DENSE) continue;
    if (is_sum(model.nodes[right])) continue;  // it may itself be folded
    sums.push_back(sum);
  }
  return sums;
}

// A folded sum and its two sides share memory; the sum is the root of all three.
void fold_sums(PlanDraft& draft) {
  auto& memory = draft.memory();
  const auto& model = draft.model();
  memory.root.resize(model.values.size());
  std::iota(memory.root.begin(), memory.root.end(), ValueId{0});
  draft.adds.assign(model.values.size(), false);
  std::vector<bool> skipped(model.nodes.size());
  auto sums = fuse_sums(draft.graph(), memory.types, memory.order, memory.readers);
  // later sums first, so that their memory becomes that of earlier ones
  std::reverse(sums.begin(), sums.end());
  for (const auto& [node, left, right, sum] : sums) {
    skipped[node] = true;
    memory.root[left] = memory.root[right] = memory.root[sum];
    draft.adds[right] = true;
    if (draft.output_names[memory.root[sum]] > 0)
      for (const auto member : {left, right, sum})
        memory.members[memory.root[sum]].push_back(member);
  }
  memory.fused_sums = std::move(sums);
  std::erase_if(memory.order, [&](NodeId id) { return skipped[id]; });
}

}  // namespace tenon

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "device/devices.hpp"
#include "plan/fusion/find_groups.hpp"
#include "plan/fusion/group_layout.hpp"
#include "plan/passes.hpp"

namespace tenon {
namespace {

// Internal operator of fused steps, which plans run themselves.
const LoadedOperator& fused_operator() {
  static const auto op = [] {
    LoadedOperator loaded;
    OperatorInfo info;
    info.name = "fused_elementwise";
    info.elementwise = true;
    loaded.info = std::make_shared<const OperatorInfo>(std::move(info));
    return loaded;
  }();
  return op;
}

/// Existing nodes and values keep their numbers; new ones are appended. Values of a group that
/// other nodes read get new numbers and keep their labels.
class ElementwiseFusion {
 public:
  ElementwiseFusion(PlanDraft& draft, std::span<const std::uint32_t> readers)
      : draft_(draft), graph_(draft.graph()), readers_(readers) {
    graph_.first_group = static_cast<NodeId>(draft.model().nodes.size());
    replaced_.assign(draft.model().values.size(), none);
  }

  void run(const std::vector<FoundGroup>& groups) {
    // computed before operators are added, because labels depend on all of them
    std::vector<std::string> labels;
    labels.reserve(groups.size());
    for (const auto& group : groups) labels.push_back(operators_of(group));
    for (std::size_t i = 0; i < groups.size(); ++i) add(groups[i], labels[i]);
    const auto replace = [&](ValueId& value) {
      if (value < replaced_.size() && replaced_[value] != none) value = replaced_[value];
    };
    auto& model = draft_.edit().model;
    for (auto& edge : model.edges) replace(edge);
    for (auto& [name, value] : model.outputs) replace(value);
    for (auto& [variable, value] : model.updates) replace(value);
    for (auto& conversion : graph_.conversions) replace(conversion.value);
    put_in_order(groups);
  }

 private:
  std::string operators_of(const FoundGroup& group) const;
  void add(const FoundGroup& group, const std::string& label);
  std::uint32_t use_of(const std::string& label, std::shared_ptr<const OperatorInfo> info);
  void put_in_order(const std::vector<FoundGroup>& groups);

  PlanDraft& draft_;
  LoweredGraph& graph_;
  const std::span<const std::uint32_t> readers_;
  std::vector<ValueId> replaced_;                        // value -> value that others read now
  std::unordered_map<std::string, std::uint32_t> uses_;  // label -> index in the graph's operators
};

std::string ElementwiseFusion::operators_of(const FoundGroup& group) const {
  std::vector<std::string> operators;
  for (const auto id : group.nodes)
    operators.push_back(work_label(draft_.model(), draft_.model().nodes[id]));
  return fmt::format("{}", fmt::join(operators, "+"));
}

void ElementwiseFusion::add(const FoundGroup& group, const std::string& label) {
  const auto& model = draft_.edit().model;
  auto values = group_layout(model, graph_.binding(), draft_.types(), readers_, group);
  values.group.threads =
      static_cast<int>(std::min<std::int64_t>(draft_.request.threads, group.blocks.count()));
  std::vector<std::string_view> nodes;
  for (const auto id : group.nodes) nodes.push_back(model.strings[model.nodes[id].name]);
  auto info = std::make_shared<OperatorInfo>(*fused_operator().info);
  info->name = label;
  for (const auto value : values.inputs)
    info->inputs.emplace_back().name = value_label(model, value);
  for (const auto value : values.outputs)
    info->outputs.emplace_back().name = value_label(model, value);
  info->inplace = std::move(values.inplace);
  const auto use = use_of(label, info);
  const auto id =
      draft_.add_node(fmt::format("{}", fmt::join(nodes, "+")), use, values.inputs, cpu_device());
  draft_.edit().binding.nodes[id].info = std::move(info);
  for (const auto value : values.outputs)
    replaced_[value] = draft_.add_output(id, draft_.types()[value], value_label(model, value));
  graph_.groups.push_back(std::move(values.group));
}

// Groups with the same operators share an entry; each node has its own description of inputs and
// outputs.
std::uint32_t ElementwiseFusion::use_of(const std::string& label,
                                        std::shared_ptr<const OperatorInfo> info) {
  const auto [found, added] = uses_.try_emplace(label);
  if (added) found->second = draft_.add_operator(fused_operator(), std::move(info));
  return found->second;
}

// Each group runs at the position of its last node. The nodes of groups and the sums within them
// are removed.
void ElementwiseFusion::put_in_order(const std::vector<FoundGroup>& groups) {
  std::unordered_map<NodeId, NodeId> gone;  // removed node -> replacement, or none
  for (std::uint32_t i = 0; i < groups.size(); ++i) {
    for (const auto id : groups[i].nodes) gone.emplace(id, none);
    for (const auto& sum : groups[i].sums) gone.emplace(sum.node, none);
    gone[groups[i].nodes.back()] = graph_.first_group + i;
  }
  std::vector<NodeId> order;
  order.reserve(graph_.order.size());
  for (const auto id : graph_.order)
    if (const auto found = gone.find(id); found == gone.end())
      order.push_back(id);
    else if (found->second != none)
      order.push_back(found->second);
  graph_.order = std::move(order);
}

}  // namespace

// Each group runs on up to `request.threads` threads.
void fuse_elementwise(PlanDraft& draft) {
  const auto& request = draft.request;
  if (!request.fuse_elementwise || request.optimize == Optimize::none) return;
  const auto is_large = [](const tenon_type& type) {
    return is_known(type) && element_count(type) >= min_fused_elements;
  };
  if (std::none_of(draft.types().begin(), draft.types().end(), is_large)) return;
  const auto order = execution_order(draft.graph(), request.training);
  const auto readers = count_readers(draft.model(), order, request.training);
  const auto found = find_groups(draft.graph(), draft.kernels, draft.types(), order, readers);
  if (!found.empty()) ElementwiseFusion(draft, readers.all).run(found);
}

}  // namespace tenon

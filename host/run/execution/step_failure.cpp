#include "run/execution/step_failure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/inference.hpp"

namespace tenon {

Failure failure_at(const Plan& plan, std::size_t step, const std::string& reason, const std::string& hint) {
  return failure_at_node(plan, plan.node_of(step), reason, hint);
}

Failure failure_at_node(const Plan& plan, NodeId id, const std::string& reason, const std::string& hint) {
  const auto& model = plan.model();
  OperatorTypes types;
  auto known = plan.types();
  gather_types(model, forward_of(model, model.nodes[id]), TypeTable(known), types);
  const auto& info = *model.operators[model.nodes[id].op].info;
  return {FailureKind::failed, fmt::format("{}: {}{}", node_label(model, id), reason, describe_inputs(info, types.inputs)), hint};
}

bool runs_kernel(const Plan& plan, std::size_t step, const Device& device) {
  return &plan.device_of(step) == &device && plan.copy_of(step) == none;
}

std::string nodes_before(const Plan& plan, std::size_t step, const Device& device) {
  const auto& model = plan.model();
  std::size_t first = step;
  std::vector<NodeId> done;  // the submitting thread waited for a copy of what they made
  for (auto at = step; at-- > 0 && std::find(done.begin(), done.end(), plan.node_of(at)) == done.end();) {
    if (const auto copy = plan.copy_of(at); plan.copied_from(at) == &device && plan.gpus.waits_for(plan.graph, copy))
      done.push_back(model.values[plan.graph.source_of(plan.graph.copies[copy])].producer);
    if (runs_kernel(plan, at, device)) first = at;
  }
  while (step > first && !runs_kernel(plan, step - 1, device)) --step;
  if (first == step) return {};
  const auto name = [&](std::size_t at) { return model.strings[plan.node(at).name]; };
  return first + 1 == step ? fmt::format("node '{}'", name(first)) : fmt::format("nodes '{}' to '{}'", name(first), name(step - 1));
}

}  // namespace tenon

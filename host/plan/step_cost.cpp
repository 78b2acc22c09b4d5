#include "plan/step_cost.hpp"

#include <algorithm>
#include <span>

#include "graph/inference/inference.hpp"
#include "graph/inference/operator_inference.hpp"

namespace tenon {
namespace {

double bytes_of(const Plan& plan, ValueId value) {
  const auto& type = plan.types()[value];
  return type.storage == TENON_DENSE && is_known(type)
             ? static_cast<double>(std::max<std::int64_t>(byte_count(type), 0))
             : 0;
}

double bytes_moved(const Plan& plan, std::size_t step) {
  const auto& node = plan.node(step);
  const std::span inputs(plan.model().edges.data() + node.first_edge, node.input_count);
  double bytes = 0;
  for (auto input = inputs.begin(); input != inputs.end(); ++input)
    if (*input != none && std::find(inputs.begin(), input, *input) == input)
      bytes += bytes_of(plan, *input);
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    if (plan.write(step, i) != TENON_WRITE_NONE) bytes += bytes_of(plan, node.first_output + i);
  return bytes;
}

double operations(const Plan& plan, std::size_t step, const Kernels& kernels) {
  if (plan.copy_of(step) != none || plan.group_of(step) != none) return 0;
  const auto id = plan.node_of(step);
  const auto& node = plan.node(step);
  CallTypes call_types;
  gather_types(plan.model(), forward_of(plan.model(), node), plan.types(), call_types);
  return at_node(plan.model(), id, [&] {
    return flops_of(*plan.graph.binding().nodes[id].info, plan.graph.kernel_of(id, kernels),
                    dispatch_of(node.pass == Pass::backward, plan.runs_sparse(step)), call_types);
  });
}

}  // namespace

std::vector<StepCost> step_costs(const Plan& plan, const Kernels& kernels) {
  std::vector<StepCost> costs;
  for (std::size_t step = 0; step < plan.step_count(); ++step)
    costs.push_back({bytes_moved(plan, step), operations(plan, step, kernels)});
  return costs;
}

}  // namespace tenon

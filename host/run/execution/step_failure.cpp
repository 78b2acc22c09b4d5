#include "run/execution/step_failure.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/inference/inference.hpp"
#include "graph/parameters.hpp"
#include "tensor/sparse/sparse_memory.hpp"

namespace tenon {

namespace {

bool is_same(const tenon_type& one, const tenon_type& other) {
  return one.rank == other.rank && (one.rank < 0 || shape_of(one) == shape_of(other));
}

// Infers the outputs from the inputs only.
void infer_outputs(const Plan& plan, NodeId id, CallTypes& types) {
  const auto& model = plan.model();
  const auto& op = plan.operator_of(id);
  std::fill(types.outputs.begin(), types.outputs.end(), unknown_type());
  if (op.table == nullptr) return;
  std::vector<tenon_attribute> attributes;
  fill_attributes(model, model.nodes[id], attributes);
  const Instance instance(op, *op.table, attributes, object_factory(model, id));
  infer_operator(op, instance.get(), types);
}

/// Explains why a kernel-allocated output was planned with another shape: a later node requires it.
/// Infers types again from the node on, without the constraints that later nodes impose on earlier
/// ones.
std::string why_planned(const Plan& plan, NodeId failed, const std::string& reason) {
  const auto& model = plan.model();
  if (model.nodes[failed].pass == Pass::backward || reason.find(other_shape) == std::string::npos)
    return {};
  auto known = plan.types();
  std::vector<bool> wider(known.size());
  for (NodeId id = failed; id < model.nodes.size(); ++id) {
    const auto& node = model.nodes[id];
    const auto* edges = model.edges.data() + node.first_edge;
    const auto is_wider = [&](ValueId value) { return value != none && wider[value]; };
    if (id != failed &&
        (node.pass == Pass::backward || std::none_of(edges, edges + node.input_count, is_wider)))
      continue;
    CallTypes types;
    gather_types(model, node, TypeTable(known), types);
    bool fits = true;
    try {
      infer_outputs(plan, id, types);
    } catch (const Failure&) {
      fits = false;
    }
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      fits = fits && (edges[i] == none || is_same(types.inputs[i], known[edges[i]]));
    if (!fits && id != failed)
      return fmt::format(", because {} needs {}", node_label(model, id),
                         to_string(shape_of(plan.types()[model.nodes[failed].first_output])));
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const auto value = node.first_output + i;
      wider[value] = !is_same(types.outputs[i], known[value]);
      known[value] = types.outputs[i];
    }
  }
  return {};
}

}  // namespace

Failure failure_at(const Plan& plan, std::size_t step, const std::string& reason,
                   const std::string& hint) {
  return failure_at_node(plan, plan.node_of(step), reason, hint);
}

Failure failure_at_node(const Plan& plan, NodeId id, const std::string& reason,
                        const std::string& hint) {
  const auto& model = plan.model();
  CallTypes types;
  auto known = plan.types();
  gather_types(model, forward_of(model, model.nodes[id]), TypeTable(known), types);
  const auto& info = *model.operators[model.nodes[id].op].info;
  return {FailureKind::failed,
          fmt::format("{}: {}{}{}", node_label(model, id), reason, why_planned(plan, id, reason),
                      describe_inputs(info, types.inputs)),
          hint};
}

bool runs_kernel(const Plan& plan, std::size_t step, const Device& device) {
  return &plan.device_of(step) == &device && plan.copy_of(step) == none;
}

std::string nodes_before(const Plan& plan, std::size_t step, const Device& device) {
  const auto& model = plan.model();
  std::size_t first = step;
  std::vector<NodeId> completed;  // the submitting thread waited for copies of their outputs
  for (auto at = step; at-- > 0 && std::find(completed.begin(), completed.end(),
                                             plan.node_of(at)) == completed.end();) {
    if (const auto copy = plan.copy_of(at);
        plan.copied_from(at) == &device && plan.gpus.waits_for(plan.graph, copy))
      completed.push_back(model.values[plan.graph.source_of(plan.graph.copies[copy])].producer);
    if (runs_kernel(plan, at, device)) first = at;
  }
  while (step > first && !runs_kernel(plan, step - 1, device)) --step;
  if (first == step) return {};
  const auto name = [&](std::size_t at) { return model.strings[plan.node(at).name]; };
  return first + 1 == step ? fmt::format("node '{}'", name(first))
                           : fmt::format("nodes '{}' to '{}'", name(first), name(step - 1));
}

}  // namespace tenon

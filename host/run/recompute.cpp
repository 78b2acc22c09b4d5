#include "run/recompute.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "device/devices.hpp"
#include "graph/composed/expansion.hpp"
#include "plan/passes.hpp"
#include "run/graph_impl.hpp"

namespace tenon {
namespace {

/// Bytes of a node's outputs; 0 if the node cannot be recomputed.
std::int64_t output_bytes(const NodeRecord& node, const OperatorInfo& info,
                          const std::vector<tenon_type>& types) {
  if (node.pass != Pass::forward || node.state_count > 0 || info.communicates) return 0;
  std::int64_t bytes = 0;
  for (auto value = node.first_output; value < node.first_output + node.output_count; ++value)
    bytes += std::max<std::int64_t>(byte_count(types[value]), 0);
  return bytes;
}

// Chen et al., 2016: keep one value after every `segment` bytes; recompute the others.
std::vector<NodeId> between_checkpoints(const std::vector<std::int64_t>& bytes,
                                        std::int64_t segment) {
  std::vector<NodeId> nodes;
  std::int64_t since = 0;
  for (NodeId id = 0; id < bytes.size(); ++id) {
    if (bytes[id] == 0) continue;
    since += bytes[id];
    if (since > segment)
      since = 0;
    else
      nodes.push_back(id);
  }
  return nodes;
}

// The memory that the plan of a copy of the graph needs once the gradient is added.
std::int64_t plan_bytes(const Graph& graph, GradientRequest request, std::vector<NodeId> recompute,
                        const std::map<ValueId, tenon_type>& inputs) {
  request.recompute = std::move(recompute);
  auto copy = graph.clone();
  copy.bind();
  auto builder = impl_of(copy).builder();
  const auto gradients = add_gradient(builder, request);
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i] != none) builder.output(fmt::format("gradient {}", i), gradients[i]);
  const auto running = expanded(impl_of(copy).current, cpu_device());
  const auto& model = running->model;
  const auto& binding = running->binding;
  const auto tensors = tensors_of(model);
  const Kernels kernels(model, binding, impl_of(copy).plugins().load("tenon.cast_storage"),
                        cpu_device());
  const PlanRequest planned{.training = true, .threads = impl_of(copy.host()).threads.count()};
  PlanDraft draft(running, kernels, tensors, infer_with(model, binding, tensors, inputs).types,
                  planned);
  run_passes(draft, "placement");
  return draft.memory().bytes();
}

}  // namespace

std::vector<NodeId> choose_recompute(const Graph& graph, const GradientRequest& request,
                                     std::int64_t budget,
                                     const std::map<ValueId, tenon_type>& inputs) {
  const auto& model = impl_of(graph).model();
  const auto& binding = impl_of(graph).binding();
  const auto types = infer_with(model, binding, tensors_of(model), inputs).types;
  std::vector<std::int64_t> cheap, all;
  for (NodeId id = 0; id < model.nodes.size(); ++id) {
    all.push_back(output_bytes(model.nodes[id], *binding.nodes[id].info, types));
    cheap.push_back(binding.nodes[id].info->elementwise ? all.back() : 0);
  }
  auto least = plan_bytes(graph, request, {}, inputs);
  if (least <= budget) return {};
  for (const auto& bytes : {cheap, all}) {
    std::int64_t total = 0;
    for (const auto count : bytes) total += count;
    for (auto segment = total / 64; segment > 0 && segment <= total; segment *= 2) {
      auto nodes = between_checkpoints(bytes, segment);
      const auto needed = plan_bytes(graph, request, nodes, inputs);
      least = std::min(least, needed);
      if (needed <= budget) return nodes;
    }
  }
  throw Failure(FailureKind::failed,
                fmt::format("the gradient needs at least {} bytes even if values are recomputed, "
                            "but the budget is {}",
                            least, budget),
                "use a larger budget or smaller shapes");
}

}  // namespace tenon

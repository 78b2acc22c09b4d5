#include "plan/draft.hpp"

#include <utility>

namespace tenon {

PlanDraft::PlanDraft(std::shared_ptr<const GraphSnapshot> graph, const Kernels& kernels,
                     const TensorTable& tensors, std::vector<tenon_type> types,
                     const PlanRequest& request)
    : kernels(kernels),
      tensors(tensors),
      request(request),
      plan(std::make_shared<Plan>()),
      original_(std::move(graph)) {
  plan->graph.graph = original_;
  plan->memory.types = std::move(types);
}

// Copies the graph without the operators' objects: plans run those in Kernels.
GraphSnapshot& PlanDraft::edit() {
  if (own_) return *own_;
  own_ = std::make_shared<GraphSnapshot>();
  own_->model = original_->model;
  own_->binding.operators = original_->binding.operators;
  own_->binding.nodes.reserve(original_->binding.nodes.size());
  for (const auto& node : original_->binding.nodes)
    own_->binding.nodes.push_back({node.op, {}, node.info});
  plan->graph.graph = own_;
  return *own_;
}

std::uint32_t PlanDraft::add_operator(const LoadedOperator& op,
                                      std::shared_ptr<const OperatorInfo> info) {
  auto& snapshot = edit();
  auto& model = snapshot.model;
  const auto name = info->name;
  const auto version = info->version;
  model.operators.push_back({name, version, std::move(info), none});
  snapshot.binding.operators.push_back(&op);
  return static_cast<std::uint32_t>(model.operators.size() - 1);
}

NodeId PlanDraft::add_node(std::string_view name, std::uint32_t op, std::span<const ValueId> inputs,
                           Device& device) {
  auto& snapshot = edit();
  auto& model = snapshot.model;
  const auto id = static_cast<NodeId>(model.nodes.size());
  NodeRecord node;
  node.name = model.strings.intern(name);
  node.op = op;
  node.first_edge = static_cast<std::uint32_t>(model.edges.size());
  node.input_count = static_cast<std::uint32_t>(inputs.size());
  node.first_output = static_cast<ValueId>(model.values.size());
  model.edges.insert(model.edges.end(), inputs.begin(), inputs.end());
  model.nodes.push_back(node);
  snapshot.binding.nodes.push_back({snapshot.binding.operators[op], {}, model.operators[op].info});
  auto& graph = plan->graph;
  graph.kernels.push_back(0);
  graph.sparse.push_back(false);
  graph.copy_of.push_back(none);
  graph.devices.push_back(&device);
  return id;
}

ValueId PlanDraft::add_output(NodeId node, tenon_type type, std::string_view name) {
  auto& model = edit().model;
  const auto value = static_cast<ValueId>(model.values.size());
  auto& record = model.values.emplace_back();
  if (!name.empty()) record.name = model.strings.intern(name);
  record.producer = node;
  record.index = model.nodes[node].output_count++;
  record.type = type;
  types().push_back(type);
  plan->graph.value_devices.push_back(plan->graph.devices[node]);
  return value;
}

}  // namespace tenon

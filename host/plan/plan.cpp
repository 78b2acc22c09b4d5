#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/inference.hpp"

namespace tenon {
namespace {

void require_tensor(const GraphModel& model, NodeId id, ValueId value) {
  const auto& record = model.values[value];
  if (record.role == Role::output || record.role == Role::input || record.tensor != none) return;
  throw Failure(FailureKind::failed,
                fmt::format("{}: '{}' is {} and has no values", node_label(model, id), value_label(model, value), to_string(record.type)));
}

void require_tensors(const GraphModel& model, NodeId id) {
  const auto& node = model.nodes[id];
  for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i)
    if (const auto value = model.edges[node.first_edge + i]; value != none) require_tensor(model, id, value);
}

}  // namespace

std::map<ValueId, tenon_type> input_types(const GraphModel& model, const std::map<std::string, Shape>& shapes) {
  std::map<ValueId, tenon_type> types;
  for (const auto id : model.inputs) {
    auto type = model.values[id].type;
    if (const auto given = shapes.find(std::string(model.strings[model.values[id].name])); given != shapes.end())
      type = type_of(static_cast<DType>(type.dtype), given->second);
    types.emplace(id, type);
  }
  return types;
}

std::vector<tenon_type> infer_with(const GraphModel& model, const Binding& binding, const std::map<ValueId, tenon_type>& inputs) {
  std::vector<tenon_type> types(model.values.size());
  std::transform(model.values.begin(), model.values.end(), types.begin(), [](const ValueRecord& value) { return value.type; });
  for (const auto& [value, type] : inputs)
    if (merge(types[value], type) == Merge::contradiction)
      throw Failure(FailureKind::failed, fmt::format("input '{}' is {} but the graph needs {}", value_label(model, value), to_string(type),
                                                     to_string(model.values[value].type)));
  Inference(model, binding, TypeTable(types)).run();
  return types;
}

Plan::Plan(const GraphModel& model, const Binding& binding, Kernels& kernels, const PlanContext& context, std::vector<tenon_type> types)
    : memory_(plan_memory(model, binding, kernels, context.training, std::move(types))) {
  for (const auto id : memory_.order) require_tensors(model, id);
  arena_ = Tensor::empty(DType::u8, {std::max<std::int64_t>(memory_.placement.bytes, memory_alignment)});
  make_tensors(model);
  make_calls(model, binding, kernels, context);
}

void Plan::set_data(ValueId value, void* data) {
  tensors_[value].dense.data = data;
  for (const auto& [root, member] : memory_.members)
    if (root == value) tensors_[member].dense.data = data;
}

bool Plan::can_add(ValueId output) const {
  const auto found = memory_.given_out_writes.find(output);
  return found != memory_.given_out_writes.end() && found->second.adds;
}

void Plan::set_add(ValueId output, bool add) {
  memory_.writes[memory_.given_out_writes.at(output).write] = add ? TENON_WRITE_ADD : TENON_WRITE_TO;
}

void Plan::set_step(std::uint64_t step) {
  for (auto* call : random_calls_) call->step = step;
}

}  // namespace tenon

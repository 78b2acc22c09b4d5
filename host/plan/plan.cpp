#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "device/devices.hpp"
#include "graph/inference.hpp"
#include "plugin/float_guard.hpp"

namespace tenon {
namespace {

void require_tensor(const GraphModel& model, const TensorTable& tensors, NodeId id, ValueId value) {
  const auto& record = model.values[value];
  if (record.role == Role::output || record.role == Role::input || tensors[value]) return;
  throw Failure(FailureKind::failed,
                fmt::format("{}: '{}' is {} and has no values", node_label(model, id), value_label(model, value), to_string(record.type)));
}

void require_tensors(const GraphModel& model, const TensorTable& tensors, NodeId id) {
  const auto& node = model.nodes[id];
  for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i)
    if (const auto value = model.edges[node.first_edge + i]; value != none) require_tensor(model, tensors, id, value);
}

}  // namespace

std::map<ValueId, tenon_type> input_types(const GraphModel& model, const std::map<std::string, Shape>& shapes) {
  std::map<ValueId, tenon_type> types;
  for (const auto id : model.inputs) {
    auto type = model.values[id].type;
    if (const auto given = shapes.find(std::string(model.strings[model.values[id].name])); given != shapes.end()) {
      const auto storage = type.storage;
      type = type_of(static_cast<DType>(type.dtype), given->second);
      type.storage = storage;
    }
    types.emplace(id, type);
  }
  return types;
}

std::vector<tenon_type> infer_with(const GraphModel& model, const Binding& binding, const TensorTable& tensors,
                                   const std::map<ValueId, tenon_type>& inputs, const WantedOutputs* wanted) {
  auto types = declared_types(model);
  for (ValueId value = 0; value < types.size(); ++value)
    if (tensors[value]) types[value] = type_of(tensors[value].dtype(), tensors[value].shape());
  for (const auto& [value, type] : inputs)
    if (merge(types[value], type) == Merge::contradiction)
      throw Failure(FailureKind::failed, fmt::format("input '{}' is {} but the graph needs {}", value_label(model, value), to_string(type),
                                                     to_string(model.values[value].type)));
  Inference(model, binding, TypeTable(types), wanted == nullptr ? nullptr : &wanted->nodes).run();
  for (ValueId value = 0; value < types.size(); ++value)
    types[value].storage = tensors[value] ? tensors[value].abi().storage : static_cast<std::uint8_t>(TENON_DENSE);
  for (const auto& [value, type] : inputs) types[value].storage = type.storage;
  return types;
}

Plan::Plan(std::shared_ptr<const GraphSnapshot> graph, Kernels& kernels, const TensorTable& tensors, const PlanContext& context,
           PlanInputs inputs)
    : graph_(lower(std::move(graph), kernels, tensors, {context.training, context.keep_on_device, std::move(inputs.devices), inputs.wanted},
                   inputs.types)),
      memory_(plan_memory(graph_, kernels, context.training, std::move(inputs.types))),
      error_(*context.error),
      call_context_{*context.threads, sparse_memory_} {
  for (const auto id : memory_.order) require_tensors(graph_.model(), tensors, id);
  make_arenas(*context.streams);
  make_tensors(tensors);
  make_copies(*context.streams);
  make_calls(kernels, context);
  connect_gpus(*context.streams);
  if (gpus_.empty()) return;
  if (context.capture) find_stretches(kernels);
  take_turns();
  capture_stretches();
}

void Plan::make_arenas(Streams& streams) {
  for (const auto& [device, placement] : memory_.arenas)
    arenas_.emplace_back(streams.of(*device), static_cast<std::uint64_t>(placement.bytes), "the plan");
}

void Plan::set_data(ValueId value, void* data) {
  tensors_[value].dense.data = data;
  if (const auto members = memory_.members.find(value); members != memory_.members.end())
    for (const auto member : members->second) tensors_[member].dense.data = data;
}

void Plan::set_tensor(ValueId value, const tenon_tensor& tensor) {
  set_data(value, static_cast<std::byte*>(tensor.dense.data) + tensor.dense.byte_offset);
  auto& own = tensors_[value];
  own.stored = tensor.stored;
  own.indices = tensor.indices;
  own.row_starts = tensor.row_starts;
}

// On the CPU each step looked at what its kernel stored when it returned.
Tensor Plan::take_sparse(ValueId output) {
  auto& tensor = tensors_[output];
  return tensor.dense.device_type == TENON_CPU ? sparse_memory_.release_checked(tensor) : sparse_memory_.release(tensor);
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

const Device* Plan::copied_from(std::size_t step) const {
  const auto id = node_of(step);
  return graph_.copies_at(id) ? graph_.places[graph_.copies[graph_.copy_of[id]].value] : nullptr;
}

Failure Plan::failure_at(std::size_t step, const std::string& reason, const std::string& hint) const {
  const auto& model = graph_.model();
  const auto id = node_of(step);
  OperatorTypes types;
  auto known = memory_.types;
  gather_types(model, forward_of(model, model.nodes[id]), TypeTable(known), types);
  const auto& info = *model.operators[model.nodes[id].op].info;
  return {FailureKind::failed, fmt::format("{}: {} {}", node_label(model, id), reason, describe_inputs(info, types.inputs)), hint};
}

void Plan::put_modes_back(const FloatModes& modes, const Step& step) {
  call_context_.left_modes = false;
  const auto id = node_of(static_cast<std::size_t>(step.call - calls_.data()));
  const auto* op = graph_.binding().nodes[id].op;
  op == nullptr ? modes.set() : put_back(modes, *op, graph_.model().nodes[id].pass == Pass::backward ? "backward()" : "forward()");
}

// What goes wrong on a GPU is found out by whoever waits for it next.
Failure Plan::failure_of(const Step& failed) const {
  const auto step = static_cast<std::size_t>(failed.call - calls_.data());
  auto reason = error_.reason();
  if (const auto* from = copied_from(step); from != nullptr)
    if (const auto nodes = nodes_before(step, from->is_cpu() ? device_of(step) : *from); !nodes.empty())
      reason += fmt::format("; before it {} was to do {}", from->is_cpu() ? device_of(step).name() : from->name(), nodes);
  return failure_at(step, reason);
}

}  // namespace tenon

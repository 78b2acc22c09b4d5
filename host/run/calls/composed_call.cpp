#include "run/calls/composed_call.hpp"

#include <fmt/format.h>

#include <tenon/host/cast_storage.hpp>

#include "graph/composed/expansion.hpp"
#include "graph/composition.hpp"
#include "run/execution/step_walk.hpp"
#include "run/host_impl.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

GraphSnapshot graph_of(const LoadedOperator& op, const Instance& object, const CallTypes& types,
                       std::vector<ValueId>& inputs) {
  GraphSnapshot graph;
  GraphBuilder builder(graph.model, graph.binding, *op.plugins);
  for (std::size_t i = 0; i < types.inputs.size(); ++i) {
    auto type = types.inputs[i];
    type.storage = TENON_DENSE;
    inputs.push_back(type.present != 0
                         ? builder.input(free_name(graph.model, name_of_input(*op.info, i)), type)
                         : none);
  }
  const auto outputs = compose(builder, {op,
                                         object.get(),
                                         op.info->name,
                                         {},
                                         inputs,
                                         static_cast<std::uint32_t>(types.outputs.size())});
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& made = graph.model.values[outputs[i]].type;
    if (auto declared = types.outputs[i];
        !is_known(made) || merge(declared, made) == Merge::contradiction)
      throw Failure(
          FailureKind::plugin,
          fmt::format("its infer() declares output {} as {}, but its composed nodes produce {}", i,
                      to_string(types.outputs[i]), to_string(made)));
    builder.output(fmt::format("output {}", i), outputs[i]);
  }
  return graph;
}

}  // namespace

ComposedCall::ComposedCall(const LoadedOperator& op, const Instance& object, Device& device,
                           const CallTypes& types, const CallContext& context)
    : device_(device) {
  graph_ =
      expanded(std::make_shared<const GraphSnapshot>(graph_of(op, object, types, inputs_)), device);
  no_tensors_ = tensors_of(graph_->model);
  kernels_.emplace(graph_->model, graph_->binding, op.plugins->load("tenon.cast_storage"), device);
  std::map<ValueId, tenon_type> known_types;
  PlanRequest request{
      .training = context.training, .keep_on_device = true, .threads = context.threads.count()};
  for (const auto input : inputs_) {
    if (input == none) continue;
    known_types.emplace(input, graph_->model.values[input].type);
    if (!device.is_cpu()) request.devices.emplace(input, &device);
  }
  auto inferred = infer_with(graph_->model, graph_->binding, no_tensors_, known_types).types;
  auto plan = make_plan(graph_, *kernels_, no_tensors_, std::move(inferred), request);
  if (!arenas_.fits(*plan)) arenas_.grow(*plan, streams_, false);
  execution_.emplace(std::move(plan), *kernels_, no_tensors_,
                     ExecutionContext{.call = context, .streams = &streams_, .arenas = &arenas_});
}

// A kernel cannot write an output directly that is an input, sparse, on another device, or the same
// value as another output.
void ComposedCall::bind_outputs(const CallTensors& tensors) {
  const auto& plan = execution_->plan();
  const auto& outputs = plan.model().outputs;
  made_.assign(outputs.size(), {});
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto value = outputs[i].second;
    const auto same = [value](const auto& other) { return other.second == value; };
    const bool first = std::find_if(outputs.begin(), outputs.end(), same) ==
                       outputs.begin() + static_cast<std::ptrdiff_t>(i);
    const auto& type = plan.types()[value];
    if (plan.model().values[value].role != Role::output || type.storage != TENON_DENSE || !first)
      continue;
    auto& value_device = *plan.graph.value_devices[value];
    if (&value_device != &device_)
      made_[i] = Tensor::empty(static_cast<DType>(type.dtype), shape_of(type), value_device.name());
    const auto& dense = made_[i] ? made_[i].abi().dense : tensors.outputs[i]->dense;
    execution_->set_data(value, static_cast<std::byte*>(dense.data) + dense.byte_offset);
  }
}

void ComposedCall::take_outputs(const CallTensors& tensors) {
  const auto& plan = execution_->plan();
  const auto& outputs = plan.model().outputs;
  std::map<ValueId, Tensor> sparse;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto value = outputs[i].second;
    auto from = execution_->tensor(value).dense;
    if (plan.types()[value].storage != TENON_DENSE) {
      auto& dense = sparse[value];
      if (!dense) dense = cast_storage(execution_->take_sparse(value), Storage::dense);
      from = dense.abi().dense;
    }
    const auto& to = tensors.outputs[i]->dense;
    if (from.data == static_cast<std::byte*>(to.data) + to.byte_offset) continue;
    copy_bytes(from, to, static_cast<std::uint64_t>(byte_count(plan.types()[value])));
  }
}

void ComposedCall::run(const CallTensors& tensors, std::uint64_t seed, std::uint64_t step) {
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i] != none) execution_->set_tensor(inputs_[i], *tensors.inputs[i]);
  bind_outputs(tensors);
  execution_->set_seed(seed);
  execution_->set_step(step);
  try {
    StepWalk walk(*execution_);
    for (const auto& next : execution_->start()) walk.call(next);
    execution_->finish();
  } catch (...) {
    execution_->abandon();
    throw;
  }
  take_outputs(tensors);
}

}  // namespace tenon

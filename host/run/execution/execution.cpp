#include "run/execution/execution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/stream.hpp"
#include "graph/operators/optimizer.hpp"
#include "plugin/operator_name.hpp"
#include "plugin/plugin_call.hpp"
#include "run/execution/step_failure.hpp"
#include "run/execution/step_walk.hpp"

namespace tenon {
namespace {

std::deque<CopyStep> make_copies(const Plan& plan, PlanTensors& tensors, Streams& streams,
                                 SparseMemory& sparse) {
  std::deque<CopyStep> copies;
  for (const auto& copy : plan.graph.copies) {
    const auto source = plan.graph.source_of(copy);
    copies.emplace_back(*plan.graph.value_devices[source], tensors[source],
                        *plan.graph.value_devices[copy.copy], tensors[copy.copy],
                        streams.of(stream_of(plan.graph, plan.types(), copy)), sparse);
  }
  return copies;
}

// States and variables that outlive the run and that the step changes.
std::vector<ValueId> changed_by(const Plan& plan, std::size_t step) {
  std::vector<ValueId> changed;
  if (plan.copy_of(step) != none || plan.group_of(step) != none) return changed;
  const auto& node = plan.node(step);
  const auto& forward = forward_of(plan.model(), node);
  const auto* states = plan.model().edges.data() + forward.first_edge + forward.input_count;
  changed.assign(states, states + forward.state_count);
  for (ValueId value = node.first_output; value < node.first_output + node.output_count; ++value)
    if (const auto found = plan.memory.updated.find(value); found != plan.memory.updated.end())
      changed.push_back(found->second);
  return changed;
}

// Memory for the old values of updated variables that are the new values of other ones.
std::map<ValueId, Tensor> old_values_for(const Plan& plan) {
  std::map<ValueId, Tensor> old;
  const auto& copies = plan.memory.copies;
  for (const auto& [variable, value] : copies)
    if (plan.model().values[value].role == Role::variable && is_known(plan.types()[value]) &&
        std::any_of(copies.begin(), copies.end(),
                    [&, source = value](const auto& each) { return each.first == source; }))
      old.emplace(value, Tensor::empty(static_cast<DType>(plan.types()[value].dtype),
                                       shape_of(plan.types()[value]),
                                       plan.graph.value_devices[value]->name()));
  return old;
}

// Kernels of bundled optimizers, and that of scaling by the gradients' norm, refuse nothing.
bool cannot_fail(const Plan& plan, std::size_t step) {
  if (plan.copy_of(step) != none || plan.group_of(step) != none ||
      plan.graph.worker_of(plan.node_of(step)) != nullptr)
    return false;
  const auto& info = *plan.operator_of(plan.node_of(step)).info;
  return info.space == bundled_space && (is_optimizer(info) || info.name == "scale_by");
}

// Whether a failure of the step shows only at the end of the run: faults that kernels report on a
// GPU, and invalid sparse results there.
bool may_fail_late(const Plan& plan, std::size_t step) {
  if (plan.copy_of(step) != none || plan.group_of(step) != none || plan.device_of(step).is_cpu() ||
      cannot_fail(plan, step))
    return false;
  const auto& info = *plan.operator_of(plan.node_of(step)).info;
  return info.space != bundled_space || info.name != "global_norm_scale";
}

}  // namespace

Execution::Execution(std::shared_ptr<const Plan> plan, const Kernels& kernels,
                     const TensorTable& tensors, const ExecutionContext& context)
    : plan_(std::move(plan)),
      call_context_(context.call),
      tensors_(*plan_, tensors, *context.arenas),
      copies_(make_copies(*plan_, tensors_, *context.streams, sparse_memory_)),
      calls_(*plan_, kernels, tensors_, copies_, call_context_),
      old_values_(old_values_for(*plan_)) {
  call_context_.memory = &sparse_memory_;
  if (!plan_->packed.empty()) {
    packed_memory_.emplace(*plan_, kernels, tensors, context.call.threads.count(),
                           context.constant_weights, context.session);
    for (const auto& constant : plan_->packed) {
      const auto pointers = packed_memory_->of(constant.step);
      calls_[constant.step].kept = pointers.data();
      calls_[constant.step].kept_count = static_cast<std::uint32_t>(pointers.size());
    }
  }
  if (!plan_->gpus.devices.empty())
    gpu_.emplace(*plan_, calls_, tensors_, copies_, *context.streams, *context.arenas);
  find_changes();
}

Execution::~Execution() = default;

void Execution::find_changes() {
  changes_last_ = true;
  bool late = false;
  for (std::size_t step = 0; step < plan_->step_count(); ++step) {
    const auto changed = changed_by(*plan_, step);
    changes_.insert(changes_.end(), changed.begin(), changed.end());
    if (!changes_.empty()) changes_last_ = changes_last_ && cannot_fail(*plan_, step);
    late = late || may_fail_late(*plan_, step);
  }
  changes_last_ = changes_last_ && !late;
  for (const auto& [variable, value] : plan_->memory.copies) changes_.push_back(variable);
}

void throw_if_stop_requested(const std::stop_token& stop) {
  if (stop.stop_requested())
    throw Failure(FailureKind::failed, "the run was stopped", "states and variables are unchanged");
}

void Execution::run_steps(const std::stop_token& stop) {
  const bool may_stop = stop.stop_possible();
  StepWalk walk(*this);
  for (const auto& step : start()) {
    if (may_stop) throw_if_stop_requested(stop);
    walk.call(step);
  }
}

void Execution::finish() {
  if (gpu_) gpu_->join();
  update_variables();
  if (gpu_) gpu_->finish();
}

// Copies the updates that no kernel wrote in place.
void Execution::update_variables() {
  for (const auto& [variable, old] : old_values_)
    copy_value(variable, tensors_[variable].dense, old.abi().dense);
  for (const auto& [variable, value] : plan_->memory.copies) {
    const auto old = old_values_.find(value);
    copy_value(variable, old == old_values_.end() ? tensors_[value].dense : old->second.abi().dense,
               tensors_[variable].dense);
  }
}

void Execution::copy_value(ValueId variable, const tenon_dense& from, const tenon_dense& to) const {
  auto& device = *plan_->graph.value_devices[variable];
  const auto bytes = byte_count(plan_->types()[variable]);
  if (bytes <= 0 || to.data == nullptr || from.data == to.data) return;
  if (const auto* stream = gpu_ ? gpu_->stream_of(device) : nullptr; stream != nullptr)
    copy({device, static_cast<std::byte*>(to.data)}, {device, static_cast<std::byte*>(from.data)},
         static_cast<std::uint64_t>(bytes), *stream);
  else
    std::memcpy(to.data, from.data, static_cast<std::size_t>(bytes));
}

// On the CPU, sparse outputs were checked right after their step.
Tensor Execution::take_sparse(ValueId output) {
  auto& tensor = tensors_[output];
  return tensor.dense.device_type == TENON_CPU && tensor.storage != TENON_DENSE
             ? sparse_memory_.release_checked(tensor)
             : sparse_memory_.release(tensor);
}

bool Execution::can_add(ValueId output) const {
  const auto found = plan_->memory.output_writes.find(output);
  return found != plan_->memory.output_writes.end() && found->second.adds;
}

void Execution::set_add(ValueId output, bool add) {
  calls_.write(plan_->memory.output_writes.at(output).write) =
      add ? TENON_WRITE_ADD : TENON_WRITE_TO;
}

void Execution::restore_modes(const FloatModes& modes, const FloatModes& left, const Step& step) {
  call_context_.changed_modes = false;
  const auto id = plan_->node_of(calls_.step_of(step));
  const auto* op = plan_->graph.binding().nodes[id].op;
  op == nullptr ? modes.set() : put_back(modes, left, *op, called_by(step.call->dispatch));
}

// A GPU's failure is reported by the next call that waits for the device.
Failure Execution::failure_of(const Step& failed) const {
  const auto step = calls_.step_of(failed);
  auto reason = call_context_.error->reason();
  auto& device = plan_->device_of(step);
  const auto* const from = plan_->copied_from(step);
  const auto loss =
      from == nullptr ? device.lost_reason() : std::string();  // a failed copy already reports it
  if (!loss.empty()) reason += "; " + loss;
  if (from != nullptr || !loss.empty()) {
    const auto& gpu = from == nullptr || from->is_cpu() ? device : *from;
    if (const auto nodes = nodes_before(*plan_, step, gpu); !nodes.empty())
      reason += fmt::format("; before it, {} was to run {}", gpu.name(), nodes);
  }
  return failure_at_node(*plan_, calls_.failed_node(step), reason);
}

}  // namespace tenon

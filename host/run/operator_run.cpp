#include "run/operator_run.hpp"

#include <fmt/format.h>

#include "device/current_device.hpp"
#include "device/devices.hpp"
#include "device/fault.hpp"
#include "graph/composition.hpp"
#include "plugin/plugin_call.hpp"
#include "run/execution/kernel_call.hpp"
#include "run/host_impl.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

Place in_memory(tenon_fault& fault) {
  return {cpu_device(), reinterpret_cast<std::byte*>(&fault)};
}

// Null: the operator is a graph of others, which run instead.
const Instance* chosen(const OperatorCall& op, OperatorTypes& types, bool backward) {
  const auto* kernel = op.kernel(types, backward);
  if (kernel == nullptr && (backward || !is_composed(op.object().op())))
    throw Failure(FailureKind::plugin, fmt::format("no kernel for {} computes these types{}", device_type_name(op.device().type()),
                                                   describe_inputs(op.info(), types.inputs)));
  return kernel;
}

}  // namespace

OperatorRun::OperatorRun(const OperatorCall& op, int dispatch, OperatorTypes& types, const CallTensors& tensors, const CallSetting& setting)
    : op_(op),
      kernel_(chosen(op, types, is_backward(dispatch))),
      tensors_(tensors),
      types_(types),
      dispatch_(dispatch),
      context_{setting.threads,
               setting.sparse != nullptr   ? *setting.sparse
               : setting.memory != nullptr ? *setting.memory
                                           : none_needed_,
               setting.log},
      records_(1, 0),
      running_(records_.add((kernel_ != nullptr ? *kernel_ : op.object()).owner(), {}, called_by(dispatch))) {
  auto& device = op.device();
  if (kernel_ == nullptr) {
    composed_ = std::make_unique<ComposedCall>(op.object().op(), op.object(), device, types, setting);
    set_random(setting.seed, setting.step);
    return;
  }
  const CurrentDevice current(device);  // how much scratch a library wants follows the device
  const auto scratch = workspace_bytes(op.info(), *kernel_, dispatch, types);
  const auto& stream = tensor_stream(device);
  if (scratch > 0) workspace_.emplace(stream, static_cast<std::uint64_t>(scratch), "a kernel's scratch memory");
  if (!device.is_cpu()) {
    fault_.emplace(stream, sizeof(tenon_fault), "what a kernel finds wrong");
    tenon_fault none{};
    copy(fault_->place(), in_memory(none), sizeof none, stream);
  }
  const CallArguments arguments{
      tensors.inputs, tensors.outputs, tensors.states, tensors.output_grads.data(), tensors.input_grads.data(), tensors.writes.data()};
  const CallEnvironment environment{&host_table(), context_, error_.error, setting.training, setting.seed};
  call_ = make_call(environment, dispatch, arguments, {workspace_ ? workspace_->data() : nullptr, scratch});
  call_.step = setting.step;
  call_.fault = fault_ ? reinterpret_cast<tenon_fault*>(fault_->data()) : nullptr;
}

void OperatorRun::put() {
  if (composed_) return composed_->run(tensors_, call_.seed, call_.step);
  auto& device = op_.device();
  const CurrentDevice current(device);
  if (!device.is_cpu()) call_.stream = tensor_stream(device).handle();
  const auto modes = FloatModes::now();
  const bool failed = call_kernel();
  if (const auto left = FloatModes::after_call(); left != modes || context_.left_modes) [[unlikely]]
    put_back(modes, left, kernel_->op(), called_by(dispatch_));
  if (!failed) return;
  const auto loss = device.loss();
  fail(loss.empty() ? error_.reason() : error_.reason() + "; " + loss);
}

bool OperatorRun::call_kernel() {
  RunningCalls calls;
  calls.enter(running_);
  return function_of(*kernel_->table(), dispatch_)(kernel_->get(), &call_) != 0;
}

void OperatorRun::finish() const {
  if (!fault_) return;
  tenon_fault found{};
  copy(in_memory(found), fault_->place(), sizeof found, fault_->stream());  // which waits
  if (const auto text = fault_text(found); !text.empty()) fail(text);
}

void OperatorRun::fail(const std::string& reason) const {
  throw Failure(FailureKind::failed, reason + describe_inputs(op_.info(), types_.inputs));
}

}  // namespace tenon

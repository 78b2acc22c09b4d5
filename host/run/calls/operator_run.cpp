#include "run/calls/operator_run.hpp"

#include <fmt/format.h>

#include "device/device.hpp"
#include "device/devices.hpp"
#include "device/fault.hpp"
#include "graph/composition.hpp"
#include "plugin/plugin_call.hpp"
#include "run/execution/kernel_call.hpp"
#include "run/host_impl.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

DeviceAddress in_memory(tenon_fault& fault) {
  return {cpu_device(), reinterpret_cast<std::byte*>(&fault)};
}

// Null if the operator is composed of others, which run instead.
const Instance* chosen(const OperatorCall& op, CallTypes& types, bool backward) {
  const auto* kernel = op.kernel(types, backward);
  if (kernel == nullptr && (backward || !is_composed(op.object().op())))
    throw Failure(FailureKind::plugin, fmt::format("no kernel for {} computes these types{}",
                                                   device_type_name(op.device().type()),
                                                   describe_inputs(op.info(), types.inputs)));
  return kernel;
}

}  // namespace

OperatorRun::OperatorRun(const OperatorCall& op, int dispatch, CallTypes& types,
                         const CallTensors& tensors, const CallContext& context)
    : op_(op),
      kernel_(chosen(op, types, is_backward(dispatch))),
      tensors_(tensors),
      types_(types),
      dispatch_(dispatch),
      context_(context),
      records_(1, 0),
      running_(records_.add((kernel_ != nullptr ? *kernel_ : op.object()).owner(), {},
                            called_by(dispatch))) {
  auto& device = op.device();
  context_.host = &host_table();
  context_.error = &error_;
  if (context_.memory == nullptr) context_.memory = &memory_;
  call_ = make_call(context_, dispatch);
  if (kernel_ == nullptr) {
    composed_ =
        std::make_unique<ComposedCall>(op.object().op(), op.object(), device, types, context_);
    return;
  }
  const CurrentDevice current(device);  // a library's scratch size may depend on the device
  const auto scratch = workspace_bytes(op.info(), *kernel_, dispatch, types);
  const auto& stream = tensor_stream(device);
  if (scratch > 0)
    workspace_.emplace(stream, static_cast<std::uint64_t>(scratch), "a kernel's scratch memory");
  if (!device.is_cpu()) {
    fault_.emplace(stream, sizeof(tenon_fault), "the fault record of a kernel");
    tenon_fault none{};
    copy(fault_->address(), in_memory(none), sizeof none, stream);
  }
  set_inputs(call_, tensors.inputs);
  set_outputs(call_, tensors.outputs);
  set_states(call_, tensors.states);
  call_.output_grads = tensors.output_grads.data();
  call_.input_grads = tensors.input_grads.data();
  call_.writes = tensors.writes.data();
  if (workspace_) set_workspace(call_, {workspace_->data(), scratch});
  call_.fault = fault_ ? reinterpret_cast<tenon_fault*>(fault_->data()) : nullptr;
}

void OperatorRun::launch() {
  if (composed_) return composed_->run(tensors_, call_.seed, call_.step);
  auto& device = op_.device();
  const CurrentDevice current(device);
  if (!device.is_cpu()) call_.stream = tensor_stream(device).handle();
  const auto modes = FloatModes::now();
  const bool failed = call_kernel();
  if (const auto left = FloatModes::after_call(); left != modes || context_.changed_modes)
      [[unlikely]]
    put_back(modes, left, kernel_->op(), called_by(dispatch_));
  if (!failed) return;
  const auto loss = device.lost_reason();
  fail(loss.empty() ? error_.reason() : error_.reason() + "; " + loss);
}

bool OperatorRun::call_kernel() {
  CallSequenceScope calls;
  calls.enter(running_);
  return function_of(*kernel_->table(), dispatch_)(kernel_->get(), &call_) != 0;
}

void OperatorRun::finish() const {
  if (!fault_) return;
  tenon_fault found{};
  copy(in_memory(found), fault_->address(), sizeof found, fault_->stream());  // also waits
  if (const auto text = fault_text(found); !text.empty()) fail(text);
}

void OperatorRun::fail(const std::string& reason) const {
  throw Failure(FailureKind::failed, reason + describe_inputs(op_.info(), types_.inputs));
}

}  // namespace tenon

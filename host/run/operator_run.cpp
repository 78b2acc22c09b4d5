#include "run/operator_run.hpp"

#include <cstring>

#include "device/fault.hpp"
#include "plugin/float_guard.hpp"
#include "run/execution/kernel_call.hpp"
#include "run/host_impl.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
OperatorRun::OperatorRun(const OperatorCall& op, int dispatch, OperatorTypes& types, const CallTensors& tensors, const CallSetting& setting)
    : op_(op), types_(types), dispatch_(dispatch), context_{setting.threads, setting.sparse != nullptr ? *setting.sparse : none_needed_} {
  auto& device = op.device();
  device.make_current();  // how much scratch a library wants follows the device
  const auto scratch = workspace_bytes(op.info(), op.kernel(), dispatch, types);
  if (scratch > 0) workspace_ = Tensor::empty(DType::u8, {static_cast<std::int64_t>(scratch)}, device.name());
  if (!device.is_cpu()) fault_ = Tensor::zeros(DType::i64, {sizeof(tenon_fault) / sizeof(std::int64_t)}).to(device.name());
  const CallArguments arguments{
      tensors.inputs, tensors.outputs, tensors.states, tensors.output_grads.data(), tensors.input_grads.data(), tensors.writes.data()};
  const CallEnvironment environment{&host_table(), context_, error_.error, setting.training, setting.seed};
  call_ = make_call(environment, dispatch, arguments, {workspace_ ? workspace_.data() : nullptr, scratch});
  call_.step = setting.step;
  call_.fault = fault_ ? static_cast<tenon_fault*>(fault_.data()) : nullptr;
}

void OperatorRun::put() {
  if (auto& device = op_.device(); !device.is_cpu()) {
    call_.stream = tensor_stream(device).handle();
    device.make_current();
  }
  const auto modes = FloatModes::now();
  const bool failed = function_of(op_.table(), dispatch_)(op_.kernel().get(), &call_) != 0;
  if (FloatModes::now() != modes || context_.left_modes) [[unlikely]]
    put_back(modes, op_.kernel().op(), name_of_dispatch(dispatch_));
  if (failed) fail(error_.reason());
}

void OperatorRun::finish() const {
  if (op_.device().is_cpu()) return;
  tensor_stream(op_.device()).synchronize();
  tenon_fault found{};
  std::memcpy(&found, fault_.to("cpu").data(), sizeof found);
  if (const auto text = fault_text(found); !text.empty()) fail(text);
}

void OperatorRun::fail(const std::string& reason) const {
  throw Failure(FailureKind::failed, reason + ' ' + describe_inputs(op_.info(), types_.inputs));
}

}  // namespace tenon

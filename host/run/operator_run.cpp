#include "run/operator_run.hpp"

#include <cstring>

#include "device/fault.hpp"
#include "plugin/float_guard.hpp"
#include "run/host_impl.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {
namespace {

tenon_kernel_function function_of(const tenon_operator& table, int dispatch) {
  switch (dispatch) {
    case TENON_FORWARD:
      return table.forward;
    case TENON_FORWARD_SPARSE:
      return table.forward_sparse;
    case TENON_BACKWARD:
      return table.backward;
    default:
      return table.backward_sparse;
  }
}

const char* name_of_function(int dispatch) {
  return dispatch == TENON_BACKWARD || dispatch == TENON_BACKWARD_SPARSE ? "backward()" : "forward()";
}

}  // namespace

OperatorRun::OperatorRun(const OperatorCall& op, int dispatch, OperatorTypes& types, const CallTensors& tensors, const CallSetting& setting)
    : op_(op), types_(types), dispatch_(dispatch), context_{setting.threads, setting.sparse != nullptr ? *setting.sparse : none_needed_} {
  auto& device = op.device();
  device.make_current();  // how much scratch a library wants follows the device
  const auto scratch = workspace_bytes(op.info(), op.kernel(), dispatch, types);
  if (scratch > 0) workspace_ = Tensor::empty(DType::u8, {static_cast<std::int64_t>(scratch)}, device.name());
  if (!device.is_cpu()) fault_ = Tensor::zeros(DType::i64, {sizeof(tenon_fault) / sizeof(std::int64_t)}).to(device.name());
  call_.size = sizeof call_;
  call_.host = &host_table();
  call_.context = &context_;
  call_.error = &error_.error;
  call_.threads = setting.threads.count();
  call_.flags = setting.training ? TENON_CALL_TRAINING : 0;
  call_.input_count = static_cast<std::uint32_t>(tensors.inputs.size());
  call_.inputs = tensors.inputs.data();
  call_.output_count = static_cast<std::uint32_t>(tensors.outputs.size());
  call_.outputs = tensors.outputs.data();
  call_.state_count = static_cast<std::uint32_t>(tensors.states.size());
  call_.states = tensors.states.data();
  call_.output_grads = tensors.output_grads.data();
  call_.input_grads = tensors.input_grads.data();
  call_.writes = tensors.writes.data();
  call_.workspace = workspace_ ? workspace_.data() : nullptr;
  call_.workspace_size = scratch;
  call_.seed = setting.seed;
  call_.step = setting.step;
  call_.dispatch = dispatch;
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
    put_back(modes, op_.kernel().op(), name_of_function(dispatch_));
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

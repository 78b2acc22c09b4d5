#include "run/operator_call.hpp"

#include <cstring>

#include "device/fault.hpp"
#include "device/tensor_device.hpp"
#include "graph/parameters.hpp"
#include "plugin/device_kernel.hpp"
#include "run/host_impl.hpp"

namespace tenon {
namespace {

/// The word in the device's memory in which its kernels say what they found.
class FaultWord {
 public:
  explicit FaultWord(const Device& device)
      : word_(device.is_cpu() ? Tensor() : Tensor::zeros(DType::i64, {sizeof(tenon_fault) / sizeof(std::int64_t)}).to(device.name())) {}
  tenon_fault* get() const { return word_ ? static_cast<tenon_fault*>(word_.data()) : nullptr; }
  tenon_fault read() const {
    tenon_fault fault{};
    if (word_) std::memcpy(&fault, word_.to("cpu").data(), sizeof fault);
    return fault;
  }

 private:
  Tensor word_;
};

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

}  // namespace

OperatorCall::OperatorCall(const LoadedOperator& op, const Attributes& attributes, Device& device) : op_(op), device_(device) {
  add_parameters(model_, node_, *op.info, attributes);
  node_.output_count = output_count(model_, node_, *op.info);
  fill_attributes(model_, node_, attributes_);
  const auto* table = kernel_on(op, device);
  if (table == nullptr) throw no_kernel_on(op, device);
  instance_ = Instance(*op.table, attributes_);
  if (table != op.table) kernel_ = Instance(*table, attributes_);
}

void OperatorCall::forward(OperatorTypes& types, const CallTensors& tensors, const CallSetting& setting) const {
  run(setting.sparse != nullptr ? TENON_FORWARD_SPARSE : TENON_FORWARD, types, tensors, setting);
}

void OperatorCall::backward(OperatorTypes& types, const CallTensors& tensors, const CallSetting& setting) const {
  run(setting.sparse != nullptr ? TENON_BACKWARD_SPARSE : TENON_BACKWARD, types, tensors, setting);
}

void OperatorCall::run(int dispatch, OperatorTypes& types, const CallTensors& tensors, const CallSetting& setting) const {
  const auto scratch = workspace_bytes(info(), kernel(), dispatch, types);
  Tensor workspace;
  if (scratch > 0) workspace = Tensor::empty(DType::u8, {static_cast<std::int64_t>(scratch)}, device_.name());
  const FaultWord fault(device_);
  ErrorBuffer buffer;
  tenon_call call{};
  call.size = sizeof call;
  call.host = &host_table();
  SparseMemory none_needed;
  CallContext context{setting.threads, setting.sparse != nullptr ? *setting.sparse : none_needed};
  call.context = &context;
  call.error = &buffer.error;
  call.threads = setting.threads.count();
  call.flags = setting.training ? TENON_CALL_TRAINING : 0;
  call.input_count = static_cast<std::uint32_t>(tensors.inputs.size());
  call.inputs = tensors.inputs.data();
  call.output_count = static_cast<std::uint32_t>(tensors.outputs.size());
  call.outputs = tensors.outputs.data();
  call.state_count = static_cast<std::uint32_t>(tensors.states.size());
  call.states = tensors.states.data();
  call.output_grads = tensors.output_grads.data();
  call.input_grads = tensors.input_grads.data();
  call.writes = tensors.writes.data();
  call.workspace = workspace ? workspace.data() : nullptr;
  call.workspace_size = scratch;
  call.seed = setting.seed;
  call.step = setting.step;
  call.dispatch = dispatch;
  call.fault = fault.get();
  const Stream* const stream = device_.is_cpu() ? nullptr : &tensor_stream(device_);
  if (stream != nullptr) {
    call.stream = stream->handle();
    device_.make_current();
  }
  const auto fail = [&](const std::string& reason) {
    throw Failure(FailureKind::failed, reason + ' ' + describe_inputs(info(), types.inputs));
  };
  if (function_of(*kernel().table(), dispatch)(kernel().get(), &call) != 0) fail(buffer.reason());
  if (stream == nullptr) return;
  stream->synchronize();
  if (const auto found = fault_text(fault.read()); !found.empty()) fail(found);
}

}  // namespace tenon

#include "run/operator_call.hpp"

#include "graph/parameters.hpp"
#include "plan/kernels.hpp"
#include "run/host_impl.hpp"

namespace tenon {

OperatorCall::OperatorCall(const LoadedOperator& op, const Attributes& attributes) : op_(op) {
  add_parameters(model_, node_, *op.info, attributes);
  node_.output_count = output_count(model_, node_, *op.info);
  fill_attributes(model_, node_, attributes_);
  require_kernel(op);
  instance_ = Instance(*op.table, attributes_);
  if (op.cpu != op.table) kernel_ = Instance(*op.cpu, attributes_);
}

void OperatorCall::forward(OperatorTypes& types, const CallTensors& tensors, const CallSetting& setting) const {
  const auto dispatch = setting.sparse != nullptr ? TENON_FORWARD_SPARSE : TENON_FORWARD;
  const auto scratch = workspace_bytes(info(), kernel(), dispatch, types);
  Tensor workspace;
  if (scratch > 0) workspace = Tensor::empty(DType::u8, {static_cast<std::int64_t>(scratch)});
  ErrorBuffer buffer;
  tenon_call call{};
  call.size = sizeof call;
  call.host = &host_table();
  SparseMemory none_needed;
  CallContext context{setting.threads, setting.sparse != nullptr ? *setting.sparse : none_needed};
  call.context = &context;
  call.error = &buffer.error;
  call.threads = setting.threads.count();
  call.input_count = static_cast<std::uint32_t>(tensors.inputs.size());
  call.inputs = tensors.inputs.data();
  call.output_count = static_cast<std::uint32_t>(tensors.outputs.size());
  call.outputs = tensors.outputs.data();
  call.state_count = static_cast<std::uint32_t>(tensors.states.size());
  call.states = tensors.states.data();
  call.writes = tensors.writes.data();
  call.workspace = workspace ? workspace.data() : nullptr;
  call.workspace_size = scratch;
  call.seed = setting.seed;
  call.step = setting.step;
  call.dispatch = dispatch;
  const auto& table = *kernel().table();
  if ((setting.sparse != nullptr ? table.forward_sparse : table.forward)(kernel().get(), &call) != 0)
    throw Failure(FailureKind::failed, buffer.reason() + ' ' + describe_inputs(info(), types.inputs));
}

}  // namespace tenon

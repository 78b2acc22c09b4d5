#include "run/operator_call.hpp"

#include "graph/composition.hpp"
#include "graph/parameters.hpp"
#include "plugin/device_kernel.hpp"
#include "run/operator_run.hpp"

namespace tenon {

OperatorCall::OperatorCall(const LoadedOperator& op, const Attributes& attributes, Device& device) : op_(op), device_(device) {
  add_parameters(model_, node_, *op.info, attributes);
  node_.output_count = output_count(model_, node_, *op.info);
  fill_attributes(model_, node_, attributes_);
  const auto* table = kernel_on(op, device);
  composed_ = table == nullptr && tenon::is_composed(op);
  if (table == nullptr && !composed_) throw no_kernel_on(op, device);
  instance_ = Instance(op, *op.table, attributes_);
  if (!composed_ && table != op.table) kernel_ = Instance(op, *table, attributes_);
}

void OperatorCall::forward(OperatorTypes& types, const CallTensors& tensors, const CallSetting& setting) const {
  run(setting.sparse != nullptr ? TENON_FORWARD_SPARSE : TENON_FORWARD, types, tensors, setting);
}

void OperatorCall::backward(OperatorTypes& types, const CallTensors& tensors, const CallSetting& setting) const {
  run(setting.sparse != nullptr ? TENON_BACKWARD_SPARSE : TENON_BACKWARD, types, tensors, setting);
}

void OperatorCall::run(int dispatch, OperatorTypes& types, const CallTensors& tensors, const CallSetting& setting) const {
  OperatorRun run(*this, dispatch, types, tensors, setting);
  run.put();
  run.finish();
}

}  // namespace tenon

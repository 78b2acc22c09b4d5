#include "run/calls/operator_call.hpp"

#include "graph/composition.hpp"
#include "graph/parameters.hpp"
#include "plugin/device_kernel.hpp"
#include "run/calls/operator_run.hpp"

namespace tenon {

OperatorCall::OperatorCall(const LoadedOperator& op, const Attributes& attributes, Device& device)
    : op_(op), device_(device) {
  add_parameters(model_, node_, *op.info, attributes);
  node_.output_count = output_count(model_, node_, *op.info);
  fill_attributes(model_, node_, attributes_);
  const auto* table = kernel_on(op, device);
  composed_ = table == nullptr && tenon::is_composed(op);
  if (table == nullptr && !composed_) throw no_kernel_on(op, device);
  instance_ = Instance(op, *op.table, attributes_);
  const auto& candidates = op.candidates[device.type()];
  if (table == nullptr || (table == op.table && candidates.size() < 2)) return;
  kernels_ = KernelSet(op, device.type(), attributes_, false);
  if (kernels_.empty())
    kernels_ = KernelSet(Instance(op, *table, attributes_));  // an operator that is in no catalog
  for (std::size_t i = 0; i < kernels_.size(); ++i)
    if (kernels_[i].table() == table) plain_ = &kernels_[i];
}

const Instance* OperatorCall::kernel(CallTypes& types, bool backward) const {
  if (composed_) return nullptr;
  const auto fits = [&](const Instance& kernel) {
    return (!backward || kernel.table()->backward != nullptr ||
            kernel.table()->backward_sparse != nullptr) &&
           supports(info(), kernel, types);
  };
  if (kernels_.empty()) return fits(instance_) ? &instance_ : nullptr;
  for (std::size_t i = 0; i < kernels_.size(); ++i)
    if (fits(kernels_[i])) return &kernels_[i];
  return nullptr;
}

static void run(const OperatorCall& call, int dispatch, CallTypes& types,
                const CallTensors& tensors, const CallContext& context) {
  OperatorRun run(call, dispatch, types, tensors, context);
  run.launch();
  run.finish();
}

void OperatorCall::forward(CallTypes& types, const CallTensors& tensors,
                           const CallContext& context) const {
  run(*this, TENON_FORWARD, types, tensors, context);
}

void OperatorCall::backward(CallTypes& types, const CallTensors& tensors,
                            const CallContext& context) const {
  run(*this, TENON_BACKWARD, types, tensors, context);
}

}  // namespace tenon

#include "run/session/quick_run.hpp"

#include <algorithm>
#include <set>

namespace tenon {
namespace {

bool is_like(const Tensor& tensor, const tenon_type& type) {
  const auto& abi = tensor.abi();
  return abi.dtype == type.dtype && abi.storage == TENON_DENSE &&
         abi.dense.device_type == TENON_CPU && abi.dense.strides == nullptr &&
         abi.dense.ndim == type.rank &&
         std::equal(abi.dense.shape, abi.dense.shape + type.rank, type.dims);
}

}  // namespace

// Runs of all outputs begin with the whole graph, and read no elements to determine shapes.
std::unique_ptr<QuickRun> QuickRun::of(const SessionGraph& up_to_date, Planned& planned) {
  const auto& plan = *planned.plan;
  const auto& model = plan.model();
  if (planned.later || !plan.gpus.devices.empty()) return nullptr;
  auto made = std::make_unique<QuickRun>();
  made->up_to_date_ = &up_to_date;
  made->planned_ = &planned;
  made->execution_ = planned.execution.get();
  for (const auto id : model.inputs)
    made->inputs_.push_back(
        {std::string(model.strings[model.values[id].name]), id, plan.types()[id]});
  std::set<ValueId> values;
  for (const auto& [name, id] : model.outputs) {
    const auto& type = plan.types()[id];
    if (model.values[id].role != Role::output || type.storage != TENON_DENSE ||
        !values.insert(id).second)
      return nullptr;
    made->outputs_.push_back(
        {std::string(model.strings[name]), id, type, made->execution_->can_add(id)});
  }
  if (!plan.graph.groups.empty()) made->overlaps_.emplace(*made->execution_);
  const auto dense = [](const IoBinding& binding) { return binding.type.storage == TENON_DENSE; };
  return std::all_of(made->inputs_.begin(), made->inputs_.end(), dense) ? std::move(made) : nullptr;
}

bool QuickRun::fits(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const {
  return std::equal(inputs.begin(), inputs.end(), inputs_.begin(), inputs_.end(),
                    [](const Tensor& tensor, const IoBinding& binding) {
                      return tensor && is_like(tensor, binding.type);
                    }) &&
         std::equal(outputs.begin(), outputs.end(), outputs_.begin(), outputs_.end(),
                    [](const Tensor& tensor, const IoBinding& binding) {
                      return !tensor || (is_like(tensor, binding.type) && !tensor.read_only());
                    });
}

bool QuickRun::has_no_overlap(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  if (!overlaps_) return true;
  overlaps_->begin();
  for (const auto& input : inputs) overlaps_->add(input, false);
  for (const auto& output : outputs)
    if (output) overlaps_->add(output, true);
  return !overlaps_->any();
}

Execution& QuickRun::bind(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    execution_->set_tensor(inputs_[i].value, inputs[i].abi());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& binding = outputs_[i];
    if (!outputs[i])
      outputs[i] = Tensor::empty(static_cast<DType>(binding.type.dtype), shape_of(binding.type));
    execution_->set_data(binding.value, outputs[i].data());
    if (binding.adds) execution_->set_add(binding.value, false);
  }
  return *execution_;
}

}  // namespace tenon

#include "run/session/run_outputs.hpp"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>

#include "tensor/add_elements.hpp"
#include "tensor/tensor_device.hpp"

namespace tenon {

void check_destinations(const Plan& plan, const Destinations& destinations) {
  const auto& model = plan.model();
  if (destinations.empty()) return;
  std::unordered_map<std::string_view, ValueId> values;
  for (const auto& [name, value] : model.outputs) values.emplace(model.strings[name], value);
  for (const auto& [name, destination] : destinations) {
    const auto found = values.find(name);
    if (found == values.end()) continue;  // another stage makes it
    const auto refuse = [&, &requested = name](const std::string& what) {
      throw Failure(FailureKind::usage,
                    fmt::format("the destination of output '{}' {}", requested, what));
    };
    if (destination.write != Write::to && destination.write != Write::add)
      refuse("supports only the write modes `to` and `add`");
    const auto& type = plan.types()[found->second];
    if (type.storage == TENON_STORAGE_UNKNOWN)
      refuse("is not used: the kernel allocates the output, and run() returns it");
    if (type.storage != TENON_DENSE)
      refuse(fmt::format("is not used: the output is {}, and run() returns it",
                         name_of(static_cast<Storage>(type.storage))));
    const auto& tensor = destination.tensor;
    if (tensor && tensor.storage() != Storage::dense) refuse("must be dense");
    if (!tensor || !tensor.contiguous()) refuse("must be a contiguous tensor");
    if (tensor.read_only()) refuse("is read-only: use writable memory, such as a copy");
    if (tensor.dtype() != static_cast<DType>(type.dtype) || tensor.shape() != shape_of(type))
      refuse(fmt::format("is {} but the output is {}",
                         to_string(type_of(tensor.dtype(), tensor.shape())), to_string(type)));
  }
}

NamedTensors bind_outputs(const Planned& planned, const NamedTensors& inputs,
                          const Destinations& destinations, bool keep_on_device) {
  auto& execution = *planned.execution;
  const auto& plan = execution.plan();
  const auto& model = plan.model();
  NamedTensors outputs;
  std::map<ValueId, Tensor> made;
  std::map<ValueId, int> names;
  for (const auto& [name, value] : model.outputs) ++names[value];
  for (const auto& [name, value] : model.outputs) {
    auto& tensor = made[value];
    const auto& record = model.values[value];
    const auto requested = destinations.find(std::string(model.strings[name]));
    if (record.role == Role::output && plan.types()[value].storage != TENON_DENSE)
      continue;  // returned by the run
    if (!tensor && record.role == Role::output) {
      // a sum that a kernel accumulated is not the value that a second name must return
      const bool adds = execution.can_add(value) && names[value] == 1;
      auto& value_device = *plan.graph.value_devices[value];
      const bool direct = requested != destinations.end() &&
                          (requested->second.write == Write::to || adds) &&
                          &device_of(requested->second.tensor) == &value_device;
      const auto& type = plan.types()[value];
      tensor = direct ? requested->second.tensor
                      : Tensor::empty(static_cast<DType>(type.dtype), shape_of(type),
                                      value_device.name());
      execution.set_data(value, tensor.data());
      if (execution.can_add(value))
        execution.set_add(value, direct && requested->second.write == Write::add);
    } else if (!tensor) {
      tensor = record.role == Role::input ? inputs.at(std::string(model.strings[record.name]))
                                          : planned.graph->tensors.at(value).clone();
      if (!keep_on_device) tensor = tensor.to("cpu");
    }
    outputs.emplace(model.strings[name], tensor);
  }
  return outputs;
}

void take_sparse_outputs(Execution& execution, bool keep_on_device, NamedTensors& outputs) {
  const auto& plan = execution.plan();
  const auto& model = plan.model();
  std::map<ValueId, Tensor> taken;
  for (const auto& [name, value] : model.outputs) {
    if (model.values[value].role != Role::output || plan.types()[value].storage == TENON_DENSE)
      continue;
    auto& tensor = taken[value];
    if (!tensor) tensor = execution.take_sparse(value);
    if (!keep_on_device && !model.strings[name].starts_with(for_later)) tensor = tensor.to("cpu");
    outputs.emplace(model.strings[name], tensor);
  }
}

void deliver(const Destinations& destinations, NamedTensors& outputs) {
  for (const auto& [name, destination] : destinations) {
    auto& made = outputs.at(name);
    if (made.data() == destination.tensor.data()) continue;
    destination.write == Write::add ? add_elements(made, destination.tensor)
                                    : copy_elements(made, destination.tensor);
    made = destination.tensor;
  }
}

}  // namespace tenon

#include "run/tensor_placement.hpp"

namespace tenon {
namespace {

std::vector<Device*> devices_of(const GraphModel& model, const Kernels& kernels, bool training) {
  std::vector<Device*> devices(model.values.size());
  for (NodeId id = 0; id < model.nodes.size(); ++id) {
    const auto& node = model.nodes[id];
    for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i) {
      const auto value = model.edges[node.first_edge + i];
      if (value != none && devices[value] == nullptr) devices[value] = &kernels.device_of(model, id);
    }
  }
  if (training)
    for (ValueId id = 0; id < model.values.size(); ++id)
      if (model.values[id].role == Role::variable) devices[id] = &kernels.device();
  return devices;
}

}  // namespace

void place_tensors(const GraphModel& model, const Kernels& kernels, bool training, TensorTable& tensors) {
  const auto devices = devices_of(model, kernels, training);
  for (ValueId id = 0; id < tensors.size(); ++id)
    if (tensors[id] && devices[id] != nullptr) tensors[id] = tensors[id].to(devices[id]->name());
}

}  // namespace tenon

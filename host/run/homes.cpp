#include "run/homes.hpp"

namespace tenon {
namespace {

std::vector<Device*> homes_of(const GraphModel& model, const Kernels& kernels, bool training) {
  std::vector<Device*> homes(model.values.size());
  for (NodeId id = 0; id < model.nodes.size(); ++id) {
    const auto& node = model.nodes[id];
    for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i) {
      const auto value = model.edges[node.first_edge + i];
      if (value != none && homes[value] == nullptr) homes[value] = &kernels.device_of(model, id);
    }
  }
  if (training)
    for (ValueId id = 0; id < model.values.size(); ++id)
      if (model.values[id].role == Role::variable) homes[id] = &kernels.device();
  return homes;
}

}  // namespace

void move_home(const GraphModel& model, const Kernels& kernels, bool training, TensorTable& tensors) {
  const auto homes = homes_of(model, kernels, training);
  for (ValueId id = 0; id < tensors.size(); ++id)
    if (tensors[id] && homes[id] != nullptr) tensors[id] = tensors[id].to(homes[id]->name());
}

}  // namespace tenon

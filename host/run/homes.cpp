#include "run/homes.hpp"

#include <algorithm>

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

bool uses_gpus(const GraphModel& model, const Device& device) {
  return !device.is_cpu() || std::any_of(model.nodes.begin(), model.nodes.end(),
                                         [&](const NodeRecord& node) { return node.device != 0 && model.strings[node.device] != "cpu"; });
}

void move_home(GraphModel& model, const Kernels& kernels, bool training) {
  const auto homes = homes_of(model, kernels, training);
  for (ValueId id = 0; id < model.values.size(); ++id) {
    const auto& value = model.values[id];
    if (value.tensor == none || value.role == Role::output || homes[id] == nullptr) continue;
    auto& tensor = model.tensors[value.tensor];
    tensor = tensor.to(homes[id]->name());
  }
}

}  // namespace tenon

#include "run/session/tensor_placement.hpp"

#include <cstring>
#include <set>

#include "device/memory.hpp"
#include "isolate/shared_memory.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {
namespace {

std::vector<Device*> devices_of(const GraphModel& model, const Kernels& kernels, bool training) {
  std::vector<Device*> devices(model.values.size());
  for (NodeId id = 0; id < model.nodes.size(); ++id) {
    const auto& node = model.nodes[id];
    for (std::uint32_t i = 0; i < node.input_count + node.state_count; ++i) {
      const auto value = model.edges[node.first_edge + i];
      if (value != none && devices[value] == nullptr)
        devices[value] = &kernels.device_of(model, id);
    }
  }
  if (training)
    for (ValueId id = 0; id < model.values.size(); ++id)
      if (model.values[id].role == Role::variable) devices[id] = &kernels.device();
  return devices;
}

}  // namespace

void place_tensors(const GraphModel& model, const Kernels& kernels, bool training,
                   TensorTable& tensors) {
  const auto devices = devices_of(model, kernels, training);
  for (ValueId id = 0; id < tensors.size(); ++id)
    if (tensors[id] && devices[id] != nullptr) tensors[id] = tensors[id].to(devices[id]->name());
}

// Uses one block for all tensors.
void share_with_workers(const GraphModel& model, const Kernels& kernels, bool training,
                        TensorTable& tensors) {
  std::set<ValueId> values;
  std::uint64_t bytes = 0;
  for (NodeId id = 0; id < model.nodes.size(); ++id) {
    const auto& node = model.nodes[id];
    const auto& device = kernels.device_of(model, id);
    if (!device.is_cpu() || kernels.all_of(model, id, device)[0].op().isolated_plugin() == nullptr)
      continue;
    for (std::uint32_t i = 0; i < node.input_count; ++i) {
      const auto value = model.edges[node.first_edge + i];
      if (value == none || value >= tensors.size() || !tensors[value]) continue;
      if (training && model.values[value].role == Role::variable && !model.values[value].updated)
        continue;
      const auto& tensor = tensors[value];
      if (tensor.storage() != Storage::dense || !tensor.contiguous() || tensor.device() != "cpu")
        continue;
      const auto size = static_cast<std::uint64_t>(tensor.bytes());
      if (size < shared_memory::min_shared_bytes ||
          shared_memory::find(tensor.data(), size) != nullptr)
        continue;
      if (values.insert(value).second) bytes += align_up(size);
    }
  }
  if (values.empty()) return;
  const auto block =
      shared_memory::make(bytes, SharedBlock::Access::read, "the weights of a session");
  std::uint64_t offset = 0;
  for (const auto value : values) {
    auto& tensor = tensors[value];
    const auto size = static_cast<std::uint64_t>(tensor.bytes());
    std::memcpy(block->data() + offset, tensor.data(), size);
    tensor = TrackedTensor::exclusive(
        Tensor::borrow(block->data() + offset, tensor.dtype(), tensor.shape(), {}, block));
    offset += align_up(size);
  }
}

}  // namespace tenon

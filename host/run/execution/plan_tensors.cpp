#include "run/execution/plan_tensors.hpp"

#include "tensor/channels_last.hpp"

namespace tenon {

PlanTensors::PlanTensors(const Plan& plan, const TensorTable& session_tensors, const Arenas& arenas)
    : plan_(plan), types_(plan.types()), tensors_(types_.size()) {
  const auto& memory = plan.memory;
  for (const auto& arena : memory.arenas) arenas_.push_back(arenas.data(arena));
  for (ValueId value = 0; value < tensors_.size(); ++value) {
    if (!is_known(types_[value]) && types_[value].storage != TENON_STORAGE_UNKNOWN) continue;
    auto& tensor = tensors_[value] = tensor_of(types_[value], types_[value].storage);
    tensor.dense.device_type = plan.graph.value_devices[value]->type();
    tensor.dense.device_id = plan.graph.value_devices[value]->id();
    if (types_[value].layout == TENON_LAYOUT_CHANNELS_LAST) {
      auto& strides = strides_.emplace_back();
      set_channels_last_strides(types_[value].dims, types_[value].rank, strides.data());
      tensor.dense.strides = strides.data();
    }
    const auto updated = memory.updated.find(value);
    const auto stored = updated == memory.updated.end() ? value : updated->second;
    if (const auto buffer = memory.buffer_of[memory.root[value]];
        buffer != none && plan.model().values[value].role == Role::output)
      tensor.dense.data = memory_at(buffer);
    else if (stored < session_tensors.size() && session_tensors[stored])
      set(value, session_tensors[stored].abi());
  }
}

std::span<std::byte> PlanTensors::workspace(std::size_t step) const {
  const auto buffer = plan_.memory.workspace_buffer[step];
  return buffer == none ? std::span<std::byte>()
                        : std::span(memory_at(buffer), plan_.memory.workspace_bytes[step]);
}

void PlanTensors::set_data(ValueId value, void* data) {
  tensors_[value].dense.data = data;
  if (const auto members = plan_.memory.members.find(value); members != plan_.memory.members.end())
    for (const auto member : members->second) tensors_[member].dense.data = data;
}

void PlanTensors::set(ValueId value, const tenon_tensor& tensor) {
  set_data(value, static_cast<std::byte*>(tensor.dense.data) + tensor.dense.byte_offset);
  auto& own = tensors_[value];
  own.stored = tensor.stored;
  own.indices = tensor.indices;
  own.row_starts = tensor.row_starts;
}

}  // namespace tenon

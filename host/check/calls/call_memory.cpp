#include "check/calls/call_memory.hpp"

#include <fmt/format.h>

#include <cstring>

#include "check/calls/test_call.hpp"

namespace tenon::checks {

std::string tensor_label(const OperatorCall& call, const TensorGroup& group, std::size_t i) {
  if (group.tensors == &CallMemory::inputs) return input_label(call.info(), i);
  if (group.tensors == &CallMemory::outputs) return output_label(call, i);
  if (group.tensors == &CallMemory::input_grads)
    return "the gradient of " + input_label(call.info(), i);
  if (group.tensors == &CallMemory::output_grads) return "the gradient of " + output_label(call, i);
  return fmt::format("state '{}'", call.info().states[i].name);
}

PassedMemory::PassedMemory(const OperatorCall& call, const CallTypes& types,
                           const CallMemory& memory, bool backward)
    : allocated_(types.outputs) {
  std::size_t count = 0;
  for (const auto* group :
       {&memory.inputs, &memory.outputs, &memory.states, &memory.output_grads, &memory.input_grads})
    count += group->size();
  raw_.reserve(count);
  const auto& info = call.info();
  for (std::size_t i = 0; i < memory.inputs.size(); ++i)
    tensors_.inputs.push_back(
        pass(memory.inputs[i], !backward || info.backward_reads_input[declared_input(info, i)]));
  for (std::size_t declared = 0; declared < info.outputs.size(); ++declared)
    for (auto left = call.count_of(info.outputs[declared]); left > 0; --left) {
      const auto i = tensors_.outputs.size();
      if (!backward && info.allocates(i))
        tensors_.outputs.push_back(
            &raw_.emplace_back(tensor_of(allocated_[i], TENON_STORAGE_UNKNOWN)));
      else
        tensors_.outputs.push_back(
            pass(memory.outputs[i], !backward || info.backward_reads_output[declared]));
    }
  for (const auto& tensor : memory.states) tensors_.states.push_back(pass(tensor));
  for (const auto& tensor : memory.output_grads) tensors_.output_grads.push_back(pass(tensor));
  for (const auto& tensor : memory.input_grads) tensors_.input_grads.push_back(pass(tensor));
  tensors_.writes = memory.writes;
}

tenon_tensor* PassedMemory::pass(const Tensor& tensor, bool read) {
  if (!tensor) return nullptr;
  auto& raw = raw_.emplace_back(tensor.abi());
  if (!read) {
    raw.storage = TENON_STORAGE_UNKNOWN;
    raw.dense.data = nullptr;
  }
  return &raw;
}

CallMemory run_call(const OperatorCall& call, const CallTypes& types, CallMemory memory,
                    bool backward, const CallContext& context, Placement placement,
                    std::uint8_t fill) {
  auto known = types;
  if (backward)  // the shapes of all outputs are known now
    for (std::size_t i = 0; i < known.outputs.size(); ++i)
      if (memory.outputs[i])
        known.outputs[i] = type_of(memory.outputs[i].dtype(), memory.outputs[i].shape());
  const PassedMemory passed(call, known, memory, backward);
  SparseMemory allocated(guarded_source(call, passed.tensors().outputs, placement, fill));
  auto with_memory = context;
  with_memory.memory = &allocated;
  const ForkGuard fork_guard;
  if (backward) {
    call.backward(known, passed.tensors(), with_memory);
    return memory;
  }
  call.forward(known, passed.tensors(), with_memory);
  for (std::size_t i = 0; i < memory.outputs.size(); ++i) {
    if (!call.info().allocates(i)) continue;
    auto& raw = *passed.tensors().outputs[i];
    if (raw.storage != TENON_DENSE) throw Failure(FailureKind::failed, not_allocated(i));
    memory.outputs[i] = allocated.release(raw);
  }
  return memory;
}

CallMemory guarded_copy(const OperatorCall& call, const CallMemory& memory, Placement placement) {
  const auto tensor_name = [&](const Tensor& tensor) {
    for (const auto& group : tensor_groups)
      for (std::size_t i = 0; i < (memory.*group.tensors).size(); ++i)
        if (const auto& other = (memory.*group.tensors)[i]; other && other.data() == tensor.data())
          return tensor_label(call, group, i);
    return std::string("a tensor");
  };
  return memory.with([&](const Tensor& tensor, bool) {
    auto copy = guarded_tensor(tensor.dtype(), tensor.shape(), placement, 0, tensor_name(tensor));
    if (tensor.bytes() > 0)
      std::memcpy(copy.data(), tensor.data(), static_cast<std::size_t>(tensor.bytes()));
    return copy;
  });
}

}  // namespace tenon::checks

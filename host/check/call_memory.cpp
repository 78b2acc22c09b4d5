#include "check/call_memory.hpp"

namespace tenon::checks {

PassedMemory::PassedMemory(const OperatorCall& call, const CallMemory& memory, bool backward) {
  std::size_t count = 0;
  for (const auto* group : {&memory.inputs, &memory.outputs, &memory.states, &memory.output_grads, &memory.input_grads})
    count += group->size();
  raw_.reserve(count);
  const auto& info = call.info();
  for (std::size_t i = 0; i < memory.inputs.size(); ++i)
    tensors_.inputs.push_back(pass(memory.inputs[i], !backward || info.backward_reads_input[declared_input(info, i)]));
  for (std::size_t declared = 0; declared < info.outputs.size(); ++declared)
    for (auto left = call.count_of(info.outputs[declared]); left > 0; --left)
      tensors_.outputs.push_back(pass(memory.outputs[tensors_.outputs.size()], !backward || info.backward_reads_output[declared]));
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

void run_call(const OperatorCall& call, const OperatorTypes& types, const CallMemory& memory, bool backward, const CallSetting& setting) {
  const PassedMemory passed(call, memory, backward);
  auto known = types;
  const WithoutCopies here;
  backward ? call.backward(known, passed.tensors(), setting) : call.forward(known, passed.tensors(), setting);
}

}  // namespace tenon::checks

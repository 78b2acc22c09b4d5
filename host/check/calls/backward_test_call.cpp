#include "check/calls/backward_test_call.hpp"

#include <cstring>

namespace tenon::checks {

BackwardTestCall::BackwardTestCall(const LoadedOperator& op, const TestInput& sample,
                                   std::uint64_t seed)
    : sample_(sample),
      seed_(seed),
      call_(op, sample, cpu_device(), seed),
      memory_(call_.backward_memory(Numbers::positive,
                                    std::vector<bool>(sample.types.inputs.size(), true), true)) {}

CallMemory BackwardTestCall::memory(std::uint8_t fill) const {
  auto memory = memory_.with([](const Tensor& tensor, bool) { return tensor.clone(); });
  for (const auto& gradient : memory.input_grads)
    if (gradient && gradient.bytes() > 0)
      std::memset(gradient.data(), fill, static_cast<std::size_t>(gradient.bytes()));
  return memory;
}

void BackwardTestCall::run(const CallMemory& memory, Threads& threads) const {
  run_call(call_.cpu_call(), sample_.types, memory, true, {threads, seed_, 0, true});
}

}  // namespace tenon::checks

#include "check/calls/backward_trial.hpp"

#include <cstring>

namespace tenon::checks {

BackwardTrial::BackwardTrial(const LoadedOperator& op, const TestInput& sample, std::uint64_t seed)
    : sample_(sample),
      seed_(seed),
      call_(op, sample, cpu_device(), seed),
      memory_(call_.backward_memory(Numbers::positive,
                                    std::vector<bool>(sample.types.inputs.size(), true), true)) {}

CallMemory BackwardTrial::memory(std::uint8_t fill) const {
  auto memory = memory_.with([](const Tensor& tensor, bool) { return tensor.clone(); });
  for (const auto& gradient : memory.input_grads)
    if (gradient && gradient.bytes() > 0)
      std::memset(gradient.data(), fill, static_cast<std::size_t>(gradient.bytes()));
  return memory;
}

void BackwardTrial::run(const CallMemory& memory, Threads& threads) const {
  run_call(call_.here(), sample_.types, memory, true, {threads, seed_, 0, true});
}

}  // namespace tenon::checks

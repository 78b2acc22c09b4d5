// A backward call of a sample that can be repeated, each time in separate memory.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "check/calls/device_comparison.hpp"

namespace tenon::checks {

class BackwardTestCall {
 public:
  /// For an operator with a backward kernel (has_backward()). Throws Failure if forward rejects the
  /// sample.
  BackwardTestCall(const LoadedOperator& op, const TestInput& sample, std::uint64_t seed)
      : sample_(sample),
        seed_(seed),
        call_(op, sample, cpu_device(), seed),
        memory_(call_.backward_memory(Numbers::positive,
                                      std::vector<bool>(sample.types.inputs.size(), true), true)) {}

  /// A copy of the call's tensors, with every byte of the gradients that it writes set to `fill`.
  CallMemory memory(std::uint8_t fill = 0) const {
    auto memory = memory_.with([](const Tensor& tensor, bool) { return tensor.clone(); });
    for (const auto& gradient : memory.input_grads)
      if (gradient && gradient.bytes() > 0)
        std::memset(gradient.data(), fill, static_cast<std::size_t>(gradient.bytes()));
    return memory;
  }
  /// Throws Failure if the kernel rejects the call.
  void run(const CallMemory& memory, Threads& threads) const {
    run_call(call_.cpu_call(), sample_.types, memory, true, {threads, seed_, 0, true});
  }
  const OperatorInfo& info() const { return call_.cpu_call().info(); }

 private:
  const TestInput& sample_;
  std::uint64_t seed_;
  DeviceComparison call_;
  CallMemory memory_;
};

/// Returns what `test(call)` found wrong; empty if nothing, if there is no backward kernel, or if
/// the kernel rejects the call, which the check `gradient` reports.
template <class Test>
std::string test_backward(const LoadedOperator& op, const TestInput& sample, std::uint64_t seed,
                          Test&& test) {
  if (!has_backward(op, sample)) return {};
  try {
    return test(BackwardTestCall(op, sample, seed));
  } catch (const Failure&) {
    return {};
  }
}

}  // namespace tenon::checks

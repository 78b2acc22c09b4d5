// A backward call of a sample that can be repeated, each time in separate memory.
#pragma once
#include <memory>
#include <string>

#include "check/calls/same_call.hpp"

namespace tenon::checks {

class BackwardTrial {
 public:
  /// For an operator with a backward kernel (has_backward()). Throws Failure if forward rejects the
  /// sample.
  BackwardTrial(const LoadedOperator& op, const TestInput& sample, std::uint64_t seed);

  /// A copy of the call's tensors, with every byte of the gradients that it writes set to `fill`.
  CallMemory memory(std::uint8_t fill = 0) const;
  /// Throws Failure if the kernel rejects the call.
  void run(const CallMemory& memory, Threads& threads) const;
  const OperatorInfo& info() const { return call_.here().info(); }

 private:
  const TestInput& sample_;
  std::uint64_t seed_;
  SameCall call_;
  CallMemory memory_;
};

/// Returns what `look(trial)` found wrong; empty if nothing, if there is no backward kernel, or if
/// the kernel rejects the call, which the check `gradient` reports.
template <class Look>
std::string look_backward(const LoadedOperator& op, const TestInput& sample, std::uint64_t seed,
                          Look&& look) {
  if (!has_backward(op, sample)) return {};
  try {
    return look(BackwardTrial(op, sample, seed));
  } catch (const Failure&) {
    return {};
  }
}

}  // namespace tenon::checks

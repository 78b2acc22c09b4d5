// One backward call of a sample, again and again in memory of its own.
#pragma once
#include <memory>
#include <string>

#include "check/same_call.hpp"

namespace tenon::checks {

class BackwardTrial {
 public:
  /// Of an operator with a backward kernel (has_backward()). Throws Failure where forward refuses.
  BackwardTrial(const LoadedOperator& op, const TestInput& sample, std::uint64_t seed);

  /// The call's tensors, copied; every byte of the gradients that it writes is `fill`.
  CallMemory memory(std::uint8_t fill = 0) const;
  /// Throws Failure where the kernel refuses.
  void run(const CallMemory& memory, Threads& threads) const;
  const OperatorInfo& info() const { return call_.here().info(); }

 private:
  const TestInput& sample_;
  std::uint64_t seed_;
  SameCall call_;
  CallMemory memory_;
};

/// `look(trial)` returns what is wrong, or nothing; so does this where there is no backward kernel. What that refuses is the check of
/// gradients' part.
template <class Look>
std::string look_backward(const LoadedOperator& op, const TestInput& sample, std::uint64_t seed, Look&& look) {
  if (!has_backward(op, sample)) return {};
  try {
    return look(BackwardTrial(op, sample, seed));
  } catch (const Failure&) {
    return {};
  }
}

}  // namespace tenon::checks

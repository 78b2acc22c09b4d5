// The tensors of one kernel call, forward or backward.
#pragma once
#include <unistd.h>

#include <string>
#include <tenon/host/tensor.hpp>
#include <vector>

#include "check/calls/guarded_memory.hpp"
#include "run/calls/operator_call.hpp"

namespace tenon::checks {

/// Guards kernel calls: if the kernel forks and the child returns from the call, the child exits,
/// because it would otherwise go on with the checks and fork again.
class ForkGuard {
 public:
  ForkGuard() : own_(getpid()) {}
  ~ForkGuard() {
    if (getpid() != own_) _exit(0);
  }
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

 private:
  pid_t own_;
};

using Tensors = std::vector<Tensor>;

/// An empty tensor is an absent one, or an output that the kernel allocates. In backward, the
/// outputs are those that forward wrote, and unrequested input gradients are empty.
struct CallMemory {
  Tensors inputs, outputs, states, output_grads, input_grads;
  /// enum tenon_write of each output; in backward, of each input gradient
  std::vector<std::uint8_t> writes;

  /// Applies change(tensor, is_read_only) to each tensor. Tensors that share memory still share it
  /// afterwards.
  template <class Change>
  CallMemory with(Change&& change) const;
};

inline constexpr struct TensorGroup {
  const char* name;
  Tensors CallMemory::*tensors;
} tensor_groups[] = {{"output", &CallMemory::outputs},
                     {"gradient", &CallMemory::input_grads},
                     {"state", &CallMemory::states},
                     {"input", &CallMemory::inputs},
                     {"output gradient", &CallMemory::output_grads}};

/// Names a tensor, as in `gradient of input 'x'`; `group` is one of tensor_groups.
std::string tensor_label(const OperatorCall& call, const TensorGroup& group, std::size_t i);

/// The memory in the form of the ABI; in backward without the elements that the operator does not
/// read.
class PassedMemory {
 public:
  PassedMemory(const OperatorCall& call, const CallTypes& types, const CallMemory& memory,
               bool backward);
  PassedMemory(const PassedMemory&) = delete;
  PassedMemory& operator=(const PassedMemory&) = delete;
  const CallTensors& tensors() const { return tensors_; }

 private:
  tenon_tensor* pass(const Tensor& tensor, bool read = true);

  std::vector<tenon_tensor> raw_;      // capacity is reserved, because pointers into it exist
  std::vector<tenon_type> allocated_;  // the kernel writes their shapes
  CallTensors tensors_;
};

/// Runs the call and returns the memory with the outputs that the kernel allocated, which are
/// placed as `placement` says and filled with `fill` beforehand. Throws Failure if the kernel
/// rejects the call.
CallMemory run_call(const OperatorCall& call, const CallTypes& types, CallMemory memory,
                    bool backward, const CallContext& context,
                    Placement placement = Placement::aligned, std::uint8_t fill = 0);

/// Copies all tensors to memory between guard pages.
CallMemory guarded_copy(const OperatorCall& call, const CallMemory& memory, Placement placement);

template <class Change>
CallMemory CallMemory::with(Change&& change) const {
  CallMemory result;
  result.writes = writes;
  std::vector<std::pair<const void*, Tensor>> done;
  const auto changed = [&](const Tensor& tensor, bool read_only) {
    if (!tensor) return Tensor();
    for (const auto& [data, copy] : done)
      if (tensor.size() > 0 && data == tensor.data()) return copy;
    return done.emplace_back(tensor.data(), change(tensor, read_only)).second;
  };
  const auto group = [&](const Tensors& from, Tensors& to, bool read_only) {
    for (const auto& tensor : from) to.push_back(changed(tensor, read_only));
  };
  const bool backward = !output_grads.empty();
  group(inputs, result.inputs, true);
  group(outputs, result.outputs, backward);
  group(states, result.states, false);
  group(output_grads, result.output_grads, true);
  group(input_grads, result.input_grads, false);
  return result;
}

}  // namespace tenon::checks

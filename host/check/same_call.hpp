// The same call on the CPU and on a device.
#pragma once
#include <string>

#include "check/call_memory.hpp"
#include "check/device_memory.hpp"
#include "check/test_input.hpp"

namespace tenon::checks {

enum class Numbers : std::uint8_t { positive, both_signs };

class SameCall {
 public:
  /// Throws Failure where either has no kernel or refuses the parameters.
  SameCall(const LoadedOperator& op, const TestInput& sample, Device& device, std::uint64_t seed)
      : sample_(sample), here_(op, sample.attributes), there_(op, sample.attributes, device), seed_(seed) {}
  const OperatorCall& here() const { return here_; }
  const OperatorCall& there() const { return there_; }
  /// Whether the device's kernel says that it computes these types; sessions leave the others to the CPU. Throws Failure (failed).
  bool is_computed_there(bool backward) const {
    auto types = sample_.types;
    return there_.kernel(types, backward) != nullptr;
  }

  /// Tensors of the CPU with numbers in them: what is written, too, holds some. Writes are `to`.
  CallMemory forward_memory(Numbers numbers) const;
  /// And of the gradients, after a forward on the CPU; `wanted` says of which inputs. Throws Failure where that refuses.
  CallMemory backward_memory(Numbers numbers, const std::vector<bool>& wanted, bool training) const;

  /// What differs, or what the device's kernel refuses; empty where nothing does, or where the CPU's refuses, too.
  std::string compare(const CallMemory& memory, bool backward, Lie lie, bool training) const;
  /// The same of a call that is captured in `first`, as sessions capture it, and replayed with what `second` holds.
  std::string compare_replayed(const CallMemory& first, CallMemory second, bool backward, bool training) const;

 private:
  DeviceMemory memory_for(const CallMemory& memory, Lie lie) const;
  bool stays(std::size_t input) const { return here_.info().inputs[declared_input(here_.info(), input)].on_cpu; }
  /// The tensors in the device's memory, those that are read alone as `read` says; inputs for which stays() are copied on the CPU.
  CallMemory in(DeviceMemory& far, const CallMemory& memory, Lie read) const;
  std::string differences(const CallMemory& here, const CallMemory& there, const DeviceMemory& far) const;

  const TestInput& sample_;
  OperatorCall here_, there_;
  std::uint64_t seed_;
};

/// Whether the CPU's kernel has one, and an output to begin with.
bool has_backward(const LoadedOperator& op, const TestInput& sample);

/// A sentence about the first element in which a tensor of the device is not near enough to the CPU's, or to another reference; empty where
/// all are.
std::string difference(const std::string& name, const Tensor& here, const Tensor& there, const std::string& device,
                       const std::string& reference = "cpu");

}  // namespace tenon::checks

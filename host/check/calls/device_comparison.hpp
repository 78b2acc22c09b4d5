// Runs the same call on the CPU and on a device.
#pragma once
#include <string>

#include "check/calls/call_memory.hpp"
#include "check/calls/device_memory.hpp"
#include "check/test_input.hpp"

namespace tenon::checks {

enum class Numbers : std::uint8_t { positive, both_signs };

class DeviceComparison {
 public:
  /// Throws Failure if either has no kernel or rejects the parameters.
  DeviceComparison(const LoadedOperator& op, const TestInput& sample, Device& device,
                   std::uint64_t seed)
      : sample_(sample),
        cpu_call_(op, sample.attributes),
        device_call_(op, sample.attributes, device),
        seed_(seed) {}
  const OperatorCall& cpu_call() const { return cpu_call_; }
  const OperatorCall& device_call() const { return device_call_; }
  /// Whether the device's kernel supports these types; sessions run the others on the CPU. Throws
  /// Failure (failed).
  bool is_computed_on_device(bool backward) const {
    auto types = sample_.types;
    return device_call_.kernel(types, backward) != nullptr;
  }

  /// CPU tensors filled with numbers, including those that are written. Write modes are `to`.
  CallMemory forward_memory(Numbers numbers) const;
  /// Includes the gradients, after a forward on the CPU; `requested` selects the inputs. Throws
  /// Failure if forward rejects the call.
  CallMemory backward_memory(Numbers numbers, const std::vector<bool>& requested,
                             bool training) const;

  /// Returns what differs, or why the device's kernel rejects the call; empty if nothing differs,
  /// or if the CPU's kernel rejects the call, too.
  std::string compare(const CallMemory& memory, bool backward, Layout layout, bool training) const;
  /// Like compare(), with a call that is captured with `first`, as sessions do, and replayed with
  /// the contents of `second`.
  std::string compare_replayed(const CallMemory& first, CallMemory second, bool backward,
                               bool training) const;

 private:
  DeviceMemory memory_for(const CallMemory& memory, Layout layout) const;
  bool stays_on_cpu(std::size_t input) const {
    return cpu_call_.info().inputs[declared_input(cpu_call_.info(), input)].on_cpu;
  }
  /// The tensors in device memory; read-only ones have the layout `read`. Inputs for which
  /// stays_on_cpu() is true are copied on the CPU.
  CallMemory to_device(DeviceMemory& device_memory, const CallMemory& memory, Layout read) const;
  std::string differences(const CallMemory& expected, const CallMemory& actual,
                          const DeviceMemory& device_memory) const;

  const TestInput& sample_;
  OperatorCall cpu_call_, device_call_;
  std::uint64_t seed_;
};

/// Whether the CPU has a backward kernel, and the sample a floating-point first output.
bool has_backward(const LoadedOperator& op, const TestInput& sample);

/// Describes the first element in which a device's tensor differs too much from the CPU's, or from
/// another reference; empty if there is none.
std::string difference(const std::string& name, const Tensor& expected, const Tensor& actual,
                       const std::string& device, const std::string& reference = "cpu");

}  // namespace tenon::checks

// Runs the same call on the CPU and on a device.
#pragma once
#include <string>

#include "check/calls/call_memory.hpp"
#include "check/calls/device_memory.hpp"
#include "check/calls/nearby_calls.hpp"
#include "check/test_input.hpp"

namespace tenon::checks {

enum class Numbers : std::uint8_t { positive, both_signs };

class DeviceComparison {
 public:
  /// Throws Failure if either has no kernel or rejects the parameters.
  DeviceComparison(const LoadedOperator& op, const TestInput& sample, Device& device,
                   std::uint64_t seed)
      : op_(op),
        sample_(sample),
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
  std::string compare(const CallMemory& memory, bool backward, Layout layout, bool training);
  /// Like compare(), with a call that is captured with `first`, as sessions do, and replayed with
  /// the contents of `second`.
  std::string compare_replayed(const CallMemory& first, CallMemory second, bool backward,
                               bool training);
  /// Number of comparisons that were repeated at nearby inputs.
  std::size_t repeated() const { return repeated_; }

  /// The call on the CPU, and as `run` computes it, at inputs near those of `memory`.
  using Run = std::function<CallMemory(const CallMemory&)>;
  NearbyCalls nearby(const CallMemory& memory, bool backward, bool training, Run run) const;

 private:
  /// The elements that kernels wrote, on the CPU, and a description of a stray write.
  struct DeviceResult {
    CallMemory memory;
    std::string stray_write;
  };
  DeviceResult run_on_device(const CallMemory& memory, bool backward, Layout layout,
                             bool training) const;
  DeviceResult replay(const CallMemory& first, const CallMemory& second, bool backward,
                      bool training) const;
  DeviceResult result_in(const DeviceMemory& device_memory, const CallMemory& actual) const;
  /// The call with displaced inputs; for backward, after another forward.
  CallMemory displaced(CallMemory memory, const Displacement& displacement, bool backward,
                       bool training) const;
  /// Like displaced(), for `memory` of the same call in another dtype.
  CallMemory displaced_in_own_dtype(const CallMemory& memory, const Displacement& displacement,
                                    bool backward, bool training) const;
  DeviceMemory memory_for(const CallMemory& memory, Layout layout) const;
  bool stays_on_cpu(std::size_t input) const {
    return cpu_call_.info().inputs[declared_input(cpu_call_.info(), input)].on_cpu;
  }
  /// The tensors in device memory; read-only ones have the layout `read`. Inputs for which
  /// stays_on_cpu() is true are copied on the CPU.
  CallMemory to_device(DeviceMemory& device_memory, const CallMemory& memory, Layout read) const;
  std::string differences(const CallMemory& expected, const DeviceResult& result,
                          NearbyCalls nearby);

  const LoadedOperator& op_;
  const TestInput& sample_;
  OperatorCall cpu_call_, device_call_;
  std::uint64_t seed_;
  std::size_t repeated_ = 0;
};

/// Whether the CPU has a backward kernel, and the sample a floating-point first output.
bool has_backward(const LoadedOperator& op, const TestInput& sample);

/// Describes the first element in which a device's tensor differs too much from the CPU's, or from
/// another reference, and the difference is not explained by rounding near a jump; empty if there
/// is none.
struct ComparedResult {
  std::string name{}, device, reference = "cpu";
  std::size_t index = 0;          ///< of the tensor among the results of `nearby`
  NearbyCalls* nearby = nullptr;  ///< null: no difference is explained
};
std::string difference(const ComparedResult& result, const Tensor& expected, const Tensor& actual);

}  // namespace tenon::checks

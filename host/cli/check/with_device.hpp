// A check that needs the device that was named.
#pragma once
#include "cli/check/check.hpp"
#include "device/devices.hpp"
#include "plugin/device_kernel.hpp"

namespace tenon::cli {

/// Why there is nothing to compare; empty where there is.
inline std::string nothing_to_compare(const LoadedOperator& op, const Device& device) {
  if (kernel_on(op, device) == nullptr) return no_kernel_on(op, device).what();
  if (kernel_on(op, cpu_device()) == nullptr) return no_kernel_on(op, cpu_device()).what();
  return {};
}

/// body(device), or why it cannot be. The device is looked for here, in the child: CUDA does not live through a fork.
template <class Body>
Outcome with_device(const Subject& subject, Body&& body) {
  Device* device = nullptr;
  try {
    device = &find_device(subject.device);
  } catch (const Failure& failure) {
    return skipped(failure.what());
  }
  if (!subject.op.kernel_trouble.empty() && kernel_on(subject.op, *device) == nullptr) return failed(subject.op.kernel_trouble);
  const auto nothing = nothing_to_compare(subject.op, *device);
  return nothing.empty() ? body(*device) : skipped(nothing);
}

}  // namespace tenon::cli

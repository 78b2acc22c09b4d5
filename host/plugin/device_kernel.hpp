// Selection of an operator's kernel for a device.
#pragma once
#include <tenon/host/failure.hpp>

#include "device/device.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon {

/// Returns null if the operator has no kernel with a forward function for the device.
const tenon_operator* kernel_on(const LoadedOperator& op, const Device& device);

/// Returns the error for an operator without such a kernel: which kernels there are, or why the
/// existing one cannot be used.
Failure no_kernel_on(const LoadedOperator& op, const Device& device);

}  // namespace tenon

// Which of an operator's kernels runs on a device.
#pragma once
#include <tenon/host/failure.hpp>

#include "device/device.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon {

/// Null where the operator has no kernel that computes forward there.
const tenon_operator* kernel_on(const LoadedOperator& op, const Device& device);

/// What to say of an operator without one: which kernels there are, or why the one there is cannot be used.
Failure no_kernel_on(const LoadedOperator& op, const Device& device);

}  // namespace tenon

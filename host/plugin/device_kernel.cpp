#include "plugin/device_kernel.hpp"

#include <fmt/format.h>

namespace tenon {

static bool runs(const tenon_operator* kernel) {
  return kernel != nullptr && kernel->forward != nullptr;
}

const tenon_operator* kernel_on(const LoadedOperator& op, const Device& device) {
  const auto* kernel = device.is_cpu() ? op.cpu : op.cuda;
  return runs(kernel) ? kernel : nullptr;
}

Failure no_kernel_on(const LoadedOperator& op, const Device& device) {
  const char* const wanted = device.is_cpu() ? "cpu" : "cuda";
  const auto* kernel = device.is_cpu() ? op.cpu : op.cuda;
  if (kernel != nullptr) return {FailureKind::plugin, fmt::format("its kernel for {} has no forward function", wanted)};
  if (!op.kernel_trouble.empty()) return {FailureKind::plugin, op.kernel_trouble};
  const char* const other = device.is_cpu() ? "cuda" : "cpu";
  const bool has_other = runs(device.is_cpu() ? op.cuda : op.cpu);
  if (!has_other) return {FailureKind::plugin, fmt::format("there is no kernel for {} in any plugin", wanted)};
  return {FailureKind::plugin, fmt::format("there is no kernel for {} in any plugin, but one for {}", wanted, other),
          device.is_cpu() ? "" : ".to(\"cpu\") brings its inputs to where it runs"};
}

}  // namespace tenon

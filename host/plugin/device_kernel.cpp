#include "plugin/device_kernel.hpp"

#include <fmt/format.h>

namespace tenon {

static bool runs(const tenon_operator* kernel) {
  return kernel != nullptr && kernel->forward != nullptr;
}

const tenon_operator* kernel_on(const LoadedOperator& op, const Device& device) {
  const auto* kernel = op.kernel(device.type());
  return runs(kernel) ? kernel : nullptr;
}

Failure no_kernel_on(const LoadedOperator& op, const Device& device) {
  const char* const device_type = device_type_name(device.type());
  if (op.kernel(device.type()) != nullptr)
    return {FailureKind::plugin,
            fmt::format("its kernel for {} has no forward function", device_type)};
  if (!op.kernel_error.empty()) return {FailureKind::plugin, op.kernel_error};
  for (const auto& other : device_types)
    if (runs(op.kernel(other.number)))
      return {FailureKind::plugin,
              fmt::format("there is no kernel for {} in any plugin, but one for {}", device_type,
                          other.name),
              device.is_cpu() ? "" : fmt::format("move its inputs with .to(\"{}\")", other.name)};
  return {FailureKind::plugin, fmt::format("there is no kernel for {} in any plugin", device_type)};
}

}  // namespace tenon

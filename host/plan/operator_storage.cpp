#include "plan/operator_storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tenon/host/failure.hpp>

#include "plugin/plugin_call.hpp"

namespace tenon {
namespace {

bool any_sparse(std::span<const std::uint8_t> storages) {
  return std::any_of(storages.begin(), storages.end(),
                     [](std::uint8_t storage) { return storage != TENON_DENSE; });
}

}  // namespace

bool chooses_storage(const LoadedOperator& op, const Instance& kernel, bool backward,
                     bool any_sparse) {
  if (backward && !op.sparse_gradient_fault.empty()) return false;
  const auto& table = *kernel.table();
  const auto function = backward ? table.backward_sparse : table.forward_sparse;
  // Elementwise kernels never produce sparse outputs from dense inputs.
  return table.infer_storage != nullptr && function != nullptr &&
         (any_sparse || !op.info->elementwise);
}

StorageChoice choose_storage(const LoadedOperator& op, const Instance& kernel, bool backward,
                             std::span<const std::uint8_t> inputs,
                             std::span<const tenon_type> types, std::size_t outputs,
                             std::int32_t device) {
  StorageChoice choice{false, std::vector<std::uint8_t>(outputs, TENON_DENSE)};
  if (!chooses_storage(op, kernel, backward, any_sparse(inputs))) return choice;

  ErrorBuffer buffer;
  tenon_infer_storage io{};
  io.size = sizeof io;
  io.error = &buffer.error;
  io.input_count = static_cast<std::uint32_t>(inputs.size());
  io.output_count = static_cast<std::uint32_t>(outputs);
  io.inputs = inputs.data();
  io.outputs = choice.outputs.data();
  io.input_types = types.data();
  io.device_type = device;
  io.dispatch = backward ? TENON_BACKWARD : TENON_FORWARD;
  const PluginCall call(kernel.op(), kernel.owner(), PluginFunction::infer_storage);
  if (kernel.table()->infer_storage(kernel.get(), &io) != 0)
    throw Failure(FailureKind::plugin, buffer.reason());
  choice.sparse = io.sparse_kernel != 0;
  if (!choice.sparse) choice.outputs.assign(outputs, TENON_DENSE);
  for (std::size_t i = 0; i < outputs; ++i)
    if (choice.outputs[i] > TENON_CSR)
      throw Failure(FailureKind::plugin,
                    fmt::format("its infer_storage() sets output {} to the unknown storage {}", i,
                                choice.outputs[i]));
  return choice;
}

void require_fits(const tenon_type& type, std::uint8_t storage, std::size_t output) {
  if (storage == TENON_DENSE || type.rank < 0 ||
      (storage == TENON_CSR ? type.rank == 2 : type.rank > 0))
    return;
  throw Failure(FailureKind::plugin,
                fmt::format("its infer_storage() sets output {} to {}, but the output is {}",
                            output, name_of(static_cast<Storage>(storage)), to_string(type)));
}

}  // namespace tenon

// Storages that an operator's kernel accepts and produces.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graph/inference/type.hpp"
#include "graph/instance.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon {

/// The storages for a call (enum tenon_storage). Not sparse: the kernel needs dense inputs and
/// produces dense outputs.
struct StorageChoice {
  bool sparse = false;
  std::vector<std::uint8_t> outputs;
};

/// Whether the kernel decides about storages, given whether any tensor that it reads is sparse.
bool chooses_storage(const LoadedOperator& op, const Instance& kernel, bool backward,
                     bool any_sparse);

/// Calls the kernel's infer_storage(). `inputs` and `types`: for forward, those of the inputs; for
/// backward, those of the output gradients followed by the inputs. Throws Failure (plugin) with the
/// operator's reason, or if the result is invalid.
StorageChoice choose_storage(const LoadedOperator& op, const Instance& kernel, bool backward,
                             std::span<const std::uint8_t> inputs,
                             std::span<const tenon_type> types, std::size_t outputs,
                             std::int32_t device = TENON_CPU);

/// Throws Failure (plugin) if a tensor of this type cannot have that storage: csr needs two
/// dimensions, row_sparse at least one.
void require_fits(const tenon_type& type, std::uint8_t storage, std::size_t output);

}  // namespace tenon

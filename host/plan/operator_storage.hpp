// Which storages one operator's kernel takes and gives.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graph/instance.hpp"
#include "graph/type.hpp"
#include "plugin/plugin_set.hpp"

namespace tenon {

/// An answer to given storages (enum tenon_storage). Not sparse: the kernel wants everything dense, and gives it.
struct StorageChoice {
  bool sparse = false;
  std::vector<std::uint8_t> outputs;
};

/// Whether a kernel chooses storages at all, given that some tensor it reads is sparse, or none is.
bool chooses_storage(const LoadedOperator& op, const Instance& kernel, bool backward, bool any_sparse);

/// Asks the kernel's infer_storage(). `inputs` and `types` are those of forward; of backward, the output gradients' and then the inputs'.
/// Throws Failure (plugin) with the operator's reason, and for an answer that is none.
StorageChoice choose_storage(const LoadedOperator& op, const Instance& kernel, bool backward, std::span<const std::uint8_t> inputs,
                             std::span<const tenon_type> types, std::size_t outputs, std::int32_t device = TENON_CPU);

/// Throws Failure (plugin) where a tensor of this type cannot have that storage: csr is for two dimensions, row_sparse for at least one.
void require_fits(const tenon_type& type, std::uint8_t storage, std::size_t output);

}  // namespace tenon

// Checks of function tables returned by plugins. Header-only because the probe program uses it,
// too.
#pragma once
#include <tenon/abi.h>

#include <cstddef>

#include "tensor/kernel_function.hpp"

namespace tenon {

enum class TableRole { op, kernel };

/// Returns what is wrong with the table, as text that follows "its table "; null if it is valid.
/// Reads nothing past the table's own size.
inline const char* table_fault(const tenon_operator* table, TableRole role) {
  constexpr std::size_t first_size =
      offsetof(tenon_operator, backward_sparse) + sizeof(tenon_kernel_function);  // of ABI 1.0
  if (!table) return "is missing (null)";
  if (table->size < first_size) return "is too small for ABI 1";
  if (table->abi_major != TENON_ABI_MAJOR) return "has a different ABI major version";
  if (!table->create || !table->destroy) return "lacks create or destroy";
  if (role == TableRole::op && !table->infer && !is_composed(*table)) return "lacks infer";
  const bool can_run =
      table->forward || table->forward_sparse || table->backward || table->backward_sparse;
  if (role == TableRole::kernel && !can_run) return "has no compute function";
  return nullptr;
}

}  // namespace tenon

// Functions of a kernel's table, and the dispatch of calls to them.
#pragma once
#include <tenon/abi.h>

#include <cstddef>
#include <cstdint>

namespace tenon {

inline bool is_backward(std::int32_t dispatch) {
  return dispatch == TENON_BACKWARD || dispatch == TENON_BACKWARD_SPARSE;
}

/// Whether the operator is composed of others. Tables of SDKs older than 0.2 end before this
/// function.
inline bool is_composed(const tenon_operator& table) {
  return table.size >= offsetof(tenon_operator, compose) + sizeof table.compose &&
         table.compose != nullptr;
}

/// Returns 0 for tables of SDKs older than 0.2, which end before this field.
inline std::int32_t priority_of(const tenon_operator& table) {
  return table.size >= offsetof(tenon_operator, priority) + sizeof table.priority ? table.priority
                                                                                  : 0;
}

/// Whether the kernel has supports().
inline bool has_supports(const tenon_operator& table) {
  return table.size >= offsetof(tenon_operator, supports) + sizeof table.supports &&
         table.supports != nullptr;
}

/// Whether the kernel has prepare().
inline bool has_prepare(const tenon_operator& table) {
  return table.size >= offsetof(tenon_operator, prepare) + sizeof table.prepare &&
         table.prepare != nullptr;
}

/// Whether the kernel has flops().
inline bool has_flops(const tenon_operator& table) {
  return table.size >= offsetof(tenon_operator, flops) + sizeof table.flops &&
         table.flops != nullptr;
}

/// Returns an optional function of the kernel; null if the kernel lacks it or its table ends before
/// `query`.
template <class Function>
Function query(const tenon_operator& table, const char* name) {
  const bool has_query =
      table.size >= offsetof(tenon_operator, query) + sizeof table.query && table.query != nullptr;
  return has_query ? reinterpret_cast<Function>(table.query(name)) : nullptr;
}

/// may_be_traced(): whether the table's SDK has trace(); is_traced(): whether this operator
/// provides it.
inline bool may_be_traced(const tenon_operator& table) {
  return table.size >= offsetof(tenon_operator, trace) + sizeof table.trace;
}
inline bool is_traced(const tenon_operator& table) {
  return may_be_traced(table) && table.trace != nullptr;
}

/// Returns the kernel's function for a dispatch; null if the kernel has none.
inline tenon_kernel_function function_of(const tenon_operator& table, std::int32_t dispatch) {
  switch (dispatch) {
    case TENON_FORWARD:
      return table.forward;
    case TENON_FORWARD_SPARSE:
      return table.forward_sparse;
    case TENON_BACKWARD:
      return table.backward;
    default:
      return table.backward_sparse;
  }
}

}  // namespace tenon

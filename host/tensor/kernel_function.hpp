// What enum tenon_dispatch says of a call.
#pragma once
#include <tenon/abi.h>

#include <cstdint>

namespace tenon {

inline bool is_backward(std::int32_t dispatch) {
  return dispatch == TENON_BACKWARD || dispatch == TENON_BACKWARD_SPARSE;
}

/// The kernel's function for it; null where the kernel has none.
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

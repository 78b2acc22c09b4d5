// Errors that CUDA kernels report about elements.
#pragma once
#include <fmt/format.h>
#include <tenon/abi.h>

#include <string>

namespace tenon {

/// `index 7 is out of range: it must be from 0 to 3`; empty if there is no fault.
inline std::string fault_text(const tenon_fault& fault) {
  if (fault.kind == TENON_FAULT_NONE) return {};
  if (fault.kind == TENON_FAULT_INDEX && fault.limit > 0)
    return fmt::format("index {} is out of range: it must be from 0 to {}", fault.value,
                       fault.limit - 1);
  if (fault.kind == TENON_FAULT_INDEX)
    return fmt::format("index {} is out of range: the dimension is empty", fault.value);
  return fmt::format("its kernel reported unknown fault {}", fault.kind);
}

}  // namespace tenon

#include "device/fault.hpp"

#include <fmt/format.h>

namespace tenon {

std::string fault_text(const tenon_fault& fault) {
  if (fault.kind == TENON_FAULT_NONE) return {};
  if (fault.kind == TENON_FAULT_INDEX && fault.limit > 0)
    return fmt::format("an index is {}, but must be from 0 to {}", fault.value, fault.limit - 1);
  if (fault.kind == TENON_FAULT_INDEX) return fmt::format("an index is {}, where there is nothing to point to", fault.value);
  return fmt::format("its kernel found a fault of kind {}, which this host does not know", fault.kind);
}

}  // namespace tenon

// Errors that CUDA kernels report about elements.
#pragma once
#include <tenon/abi.h>

#include <string>

namespace tenon {

/// `index 7 is out of range: it must be from 0 to 3`; empty if there is no fault.
std::string fault_text(const tenon_fault& fault);

}  // namespace tenon

// What CUDA kernels report of elements that they cannot use.
#pragma once
#include <tenon/abi.h>

#include <string>

namespace tenon {

/// `index 7 is out of range: it must be from 0 to 3`; empty where nothing was found.
std::string fault_text(const tenon_fault& fault);

}  // namespace tenon

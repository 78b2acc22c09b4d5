// Finds what a real GPU could not follow: addresses of the CPU's memory in the body of a kernel.
#pragma once
#include <string>

#include "cuda_simulated_launch.h"

namespace simulated {

/// Empty, or what was found where: `byte 16 of a kernel's body of 48 is an address of the CPU's heap`. It knows stacks, code and static
/// data, and under AddressSanitizer the heap. Where the body has padding, which may hold anything, is known from g++ alone.
std::string host_address_in(const SimulatedLaunch& launch);

}  // namespace simulated

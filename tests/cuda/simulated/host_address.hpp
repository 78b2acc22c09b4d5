// Finds addresses of CPU memory in the body of a kernel, which a real GPU could not access.
#pragma once
#include <string>

#include "cuda_simulated_launch.h"

namespace simulated {

/// Returns an empty string, or the location: `byte 16 of a kernel's body of 48 is an address of the
/// CPU's heap`. Recognizes stacks, code and static data, and with AddressSanitizer the heap.
/// Padding, which may have any value, can only be recognized with g++.
std::string host_address_in(const SimulatedLaunch& launch);

}  // namespace simulated

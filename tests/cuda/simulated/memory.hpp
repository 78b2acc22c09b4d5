// What of the CPU's addresses is memory of a simulated GPU, or pinned.
#pragma once
#include <cstdint>

#include "cuda_runtime_api.h"

namespace simulated {

/// Whether all the bytes lie in one block of the device.
bool on_device(const void* memory, std::uint64_t bytes, int device);
/// Whether all the bytes lie in one piece of pinned memory.
bool is_pinned(const void* memory, std::uint64_t bytes);
/// What pools do whenever somebody has waited: they give back what is idle above their threshold.
void give_back_idle();
/// Whether the devices have pools: not with TENON_SIMULATED_POOLS=0 in the environment, as some virtual GPUs.
bool has_pools();

}  // namespace simulated

// Which CPU addresses are memory of a simulated GPU, or pinned.
#pragma once
#include <cstdint>

#include "cuda_runtime_api.h"

namespace simulated {

/// Whether all the bytes are in one block of the device.
bool on_device(const void* memory, std::uint64_t bytes, int device);
/// Whether all the bytes are in one allocation of pinned memory.
bool is_pinned(const void* memory, std::uint64_t bytes);
/// Pools free idle memory above their threshold after each wait.
void give_back_idle();
/// Whether the devices have memory pools; not with TENON_SIMULATED_POOLS=0 in the environment, like
/// some virtual GPUs.
bool has_pools();

}  // namespace simulated

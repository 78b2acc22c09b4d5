// Two simulated GPUs: enough of the CUDA runtime, on the CPU, to run the host and every plugin.
// Streams are threads that start late, so that race conditions show. Errors that CUDA would
// tolerate, slowly or with wrong results, are rejected: memory that is not pinned, offsets out of
// bounds, pools closed to a peer, launches with another current device, CPU addresses in a kernel.
// GPU memory is inaccessible while no work of the GPU runs, and contains NaN before it is written
// and after it is freed.
#pragma once
#include <atomic>
#include <cstdint>

#include "cuda_runtime_api.h"

namespace simulated {

inline constexpr int max_devices = 2;
inline constexpr std::uint64_t device_bytes = 1u << 30;

/// The error of every call of this process; cudaSuccess while the devices are usable.
cudaError_t state();
/// Records an error as CUDA does and returns it. If the devices are lost, returns the error of
/// every call.
cudaError_t result_of(cudaError_t error = cudaSuccess);

/// The calling thread's current device.
int current_device();
int device_count();

struct Counters {
  std::atomic<std::uint64_t> launches = 0, copies = 0, allocations = 0, mappings = 0,
                             synchronizations = 0, graph_launches = 0, broken_captures = 0,
                             overlaps = 0;
};
Counters& counters();

}  // namespace simulated

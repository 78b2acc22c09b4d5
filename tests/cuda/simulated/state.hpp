// Two GPUs that are not there: enough of CUDA's runtime, on the CPU, to run the host and every plugin on. Streams are threads that are
// late, so that what relies on luck fails; what CUDA would let pass slowly or wrongly is refused: memory that is not pinned, places out of
// bounds, pools that are closed to a peer, launches with another device current, addresses of the CPU in a kernel. Memory of a GPU cannot
// be touched while none of its work runs, and holds NaN before it is written and after it is freed.
#pragma once
#include <atomic>
#include <cstdint>

#include "cuda_runtime_api.h"

namespace simulated {

inline constexpr int most_devices = 2;
inline constexpr std::uint64_t device_bytes = 1u << 30;

/// What every call of this process fails with; success while the devices can be used.
cudaError_t state();
/// Remembers an error as CUDA does and gives it back. Where the devices are lost, that is the error of every call.
cudaError_t result_of(cudaError_t error = cudaSuccess);

/// Of the calling thread.
int current_device();
int device_count();

struct Counters {
  std::atomic<std::uint64_t> launches = 0, copies = 0, allocations = 0, mappings = 0, synchronizations = 0, graph_launches = 0,
                             broken_captures = 0, overlaps = 0;
};
Counters& counters();

}  // namespace simulated

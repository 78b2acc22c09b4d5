// What tests may ask of the simulated GPUs and do to them, and could not with real ones.
#pragma once
#include <cstdint>
#include <string>

#include "cuda_runtime_api.h"

/// Of this process, from its start.
struct SimulatedCounts {
  std::uint64_t launches = 0;          ///< of bodies of kernels, those of graphs included
  std::uint64_t copies = 0;            ///< and sets of memory
  std::uint64_t allocations = 0;       ///< of memory of GPUs and of pinned memory
  std::uint64_t mappings = 0;          ///< of memory of GPUs that no pool had idle
  std::uint64_t synchronizations = 0;  ///< of streams, events and devices by a thread of the CPU
  std::uint64_t graph_launches = 0;
  std::uint64_t broken_captures = 0;
  std::uint64_t overlaps = 0;  ///< kernels that began beside a copy of the same GPU, and copies beside a kernel
};
SimulatedCounts simulated_counts();

/// From now on each kernel and each copy takes that long, or until one of the other kind has begun and ended beside it: what should have
/// waited comes first. 0: no longer than they must.
void simulated_linger(int milliseconds);

/// From now on every call of this process fails with this error, as after a fault of a kernel; `reason` becomes its meaning.
void simulated_lose_device(cudaError_t error, const std::string& reason);

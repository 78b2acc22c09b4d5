// Queries and controls of simulated GPUs that tests cannot have on real ones.
#pragma once
#include <cstdint>
#include <string>

#include "cuda_runtime_api.h"

/// Totals of this process since its start.
struct SimulatedCounts {
  std::uint64_t launches = 0;          ///< of kernel bodies, including those of graphs
  std::uint64_t copies = 0;            ///< and memsets
  std::uint64_t allocations = 0;       ///< of GPU memory and of pinned memory
  std::uint64_t mappings = 0;          ///< allocations of GPU memory that no pool had idle
  std::uint64_t synchronizations = 0;  ///< of streams, events and devices by a CPU thread
  std::uint64_t graph_launches = 0;
  std::uint64_t broken_captures = 0;
  std::uint64_t overlaps =
      0;  ///< kernels that started during a copy of the same GPU, and copies during a kernel
};
SimulatedCounts simulated_counts();

/// From now on, each kernel and each copy takes this long, or until an operation of the other kind
/// has started and ended meanwhile: operations that should have waited run first. 0: no delay.
void simulated_linger(int milliseconds);

/// From now on, every call of this process fails with this error, as after a kernel's fault;
/// `reason` becomes its message.
void simulated_lose_device(cudaError_t error, const std::string& reason);

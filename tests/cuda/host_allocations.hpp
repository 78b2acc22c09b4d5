// Counts this thread's allocations of CPU memory.
#pragma once
#include <cstdint>

/// Counts calls of operator new during its lifetime, except those of CUDA's runtime and driver, and
/// of the simulated ones. Only one may exist at a time.
class HostAllocations {
 public:
  HostAllocations();
  ~HostAllocations();
  HostAllocations(const HostAllocations&) = delete;
  HostAllocations& operator=(const HostAllocations&) = delete;
  std::uint64_t count() const;
};

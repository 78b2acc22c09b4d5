// How often this thread asks the CPU for memory.
#pragma once
#include <cstdint>

/// Counts calls of operator new while it lives, but for those of CUDA's runtime and driver, simulated ones too. One at a time.
class HostAllocations {
 public:
  HostAllocations();
  ~HostAllocations();
  HostAllocations(const HostAllocations&) = delete;
  HostAllocations& operator=(const HostAllocations&) = delete;
  std::uint64_t count() const;
};

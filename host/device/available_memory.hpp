// Memory still available to this process.
#pragma once
#include <cstdint>

#include "device/cgroups.hpp"

namespace tenon {

struct AvailableMemory {
  std::uint64_t bytes;
  const char* limit;  ///< the limit that applies: `the cgroup's memory limit`
};

/// Returns the least of what the cgroups (reclaimable memory counts as free), the address space
/// limit (RLIMIT_AS), the machine, and `process_limit` on the process's resident memory (0: none)
/// leave. Limits that cannot be read are ignored. Reads a few files. Thread-safe.
AvailableMemory available_memory(std::uint64_t process_limit,
                                 const ReadText& read = read_system_file);

}  // namespace tenon

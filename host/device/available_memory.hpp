// How much memory this process can still take.
#pragma once
#include <cstdint>

#include "device/cgroups.hpp"

namespace tenon {

struct AvailableMemory {
  std::uint64_t bytes;
  const char* limit;  ///< what leaves no more: `the cgroup's memory limit`
};

/// The least that is left by the cgroups (memory they can drop counts as free), the limit of the address space (RLIMIT_AS), the machine and
/// `own_limit` on the memory that the process really uses (0: none). What cannot be read limits nothing. Costs some file reads. Threads:
/// any.
AvailableMemory available_memory(std::uint64_t own_limit, const ReadText& read = read_system_file);

}  // namespace tenon

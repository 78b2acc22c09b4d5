// The cores and the memory that this process may use, given its cgroups and other limits; see
// <tenon/host/devices.hpp> for the cores.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tenon/host/devices.hpp>

namespace tenon {

/// Returns the contents of a file; nullopt if it cannot be read.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;

std::optional<std::string> read_system_file(const std::string& path);

/// Visits the folders of the process's cgroup for `controller` (`cpu`, `memory`) and of its
/// ancestors, for cgroup v1 and v2. A folder may not exist: in a container, the kernel's path may
/// lie outside of the mounted hierarchy.
void each_cgroup(const ReadText& read, std::string_view controller,
                 const std::function<void(const std::string& folder, bool version_2)>& visit);

/// Returns the smallest quota of the process's cgroup and its ancestors, for cgroup v2 (cpu.max)
/// and v1 (cpu.cfs_quota_us, cpu.cfs_period_us).
std::optional<double> cpu_quota(const ReadText& read);

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

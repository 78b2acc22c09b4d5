// Limits on the cores that this process may use; see <tenon/host/devices.hpp> for the result.
#pragma once
#include <optional>
#include <tenon/host/devices.hpp>

#include "device/cgroups.hpp"

namespace tenon {

/// Returns the smallest quota of the process's cgroup and its ancestors, for cgroup v2 (cpu.max)
/// and v1 (cpu.cfs_quota_us, cpu.cfs_period_us).
std::optional<double> cpu_quota(const ReadText& read);

}  // namespace tenon

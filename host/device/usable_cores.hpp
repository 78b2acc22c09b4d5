// What limits the cores that this process may use; <tenon/host/devices.hpp> has the result.
#pragma once
#include <optional>
#include <tenon/host/devices.hpp>

#include "device/cgroups.hpp"

namespace tenon {

/// The smallest quota of the process's cgroup and those above it, of version 2 (cpu.max) or 1 (cpu.cfs_quota_us, cpu.cfs_period_us).
std::optional<double> cpu_quota(const ReadText& read);

}  // namespace tenon

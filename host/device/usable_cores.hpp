// How many cores this process may use, which may be fewer than the machine has.
#pragma once
#include <functional>
#include <optional>
#include <string>

namespace tenon {

struct UsableCores {
  int machine = 1;              ///< that are online
  int affinity = 1;             ///< on which the process may run
  std::optional<double> quota;  ///< of CPU time that its cgroups allow, in cores: 1.5 is one and a half; nothing: no limit

  /// The smaller of affinity and quota, a part of a core counting as one; at least 1.
  int count() const;
};

UsableCores usable_cores();

/// `machine 64, affinity mask 8, cgroup quota 1.5`
std::string describe(const UsableCores& cores);

/// The text of a file; nothing where it cannot be read.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;

/// The smallest quota of the process's cgroup and those above it, of version 2 (cpu.max) or 1 (cpu.cfs_quota_us, cpu.cfs_period_us).
std::optional<double> cpu_quota(const ReadText& read);

}  // namespace tenon

#include "device/usable_cores.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <sstream>
#include <thread>
#include <vector>

namespace tenon {
namespace {

/// Parses time and period, as in `150000 100000`; nullopt for no limit: `max 100000`, or a time of
/// -1.
std::optional<double> quota_in(const std::string& text) {
  std::istringstream words(text);
  double time = 0, period = 0;
  if (!(words >> time >> period) || !(time > 0) || !(period > 0)) return {};
  return time / period;
}

std::optional<double> quota_at(const ReadText& read, const std::string& folder, bool version_2) {
  if (version_2) return quota_in(read(folder + "/cpu.max").value_or(""));
  return quota_in(read(folder + "/cpu.cfs_quota_us").value_or("") + ' ' +
                  read(folder + "/cpu.cfs_period_us").value_or(""));
}

std::optional<double> smaller(std::optional<double> one, std::optional<double> other) {
  return one && other ? std::min(one, other) : one ? one : other;
}

int cores_of_affinity(int otherwise) {
  for (int max_cpus = 1024; max_cpus <= 1 << 20; max_cpus *= 2) {
    std::vector<cpu_set_t> set((static_cast<std::size_t>(max_cpus) + CPU_SETSIZE - 1) /
                               CPU_SETSIZE);
    const auto bytes = set.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, set.data()) == 0)
      return std::max(1, CPU_COUNT_S(bytes, set.data()));
    if (errno != EINVAL) break;  // EINVAL: the kernel's set is larger
  }
  return otherwise;
}

}  // namespace

std::optional<double> cpu_quota(const ReadText& read) {
  std::optional<double> least;
  each_cgroup(read, "cpu", [&](const std::string& folder, bool version_2) {
    least = smaller(least, quota_at(read, folder, version_2));
  });
  return least;
}

int UsableCores::count() const {
  const double allowed = quota ? std::ceil(*quota) : affinity;
  return std::max(1, static_cast<int>(std::min<double>(affinity, allowed)));
}

UsableCores usable_cores() {
  UsableCores cores;
  cores.machine = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  cores.affinity = cores_of_affinity(cores.machine);
  cores.quota = cpu_quota(read_system_file);
  return cores;
}

std::string describe(const UsableCores& cores) {
  const auto quota = cores.quota ? fmt::format("{:.3g}", *cores.quota) : "none";
  return fmt::format("machine {}, affinity mask {}, cgroup quota {}", cores.machine, cores.affinity,
                     quota);
}

}  // namespace tenon

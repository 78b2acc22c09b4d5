#include "device/usable_cores.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

namespace tenon {
namespace {

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return {};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// `150000 100000`: time in each period; `max 100000` and a time of -1: no limit.
std::optional<double> quota_in(const std::string& text) {
  std::istringstream words(text);
  double time = 0, period = 0;
  if (!(words >> time >> period) || !(time > 0) || !(period > 0)) return {};
  return time / period;
}

std::optional<double> quota_at(const ReadText& read, const std::string& folder, bool version_2) {
  if (version_2) return quota_in(read(folder + "/cpu.max").value_or(""));
  return quota_in(read(folder + "/cpu.cfs_quota_us").value_or("") + ' ' + read(folder + "/cpu.cfs_period_us").value_or(""));
}

std::optional<double> smaller(std::optional<double> one, std::optional<double> other) {
  return one && other ? std::min(one, other) : one ? one : other;
}

/// In the folder of a cgroup and in those above it, up to where the hierarchy is mounted. In a container the path may be one outside of
/// what is mounted there: what is not found has no limit.
std::optional<double> quota_up_from(const ReadText& read, const std::string& mount, std::string group, bool version_2) {
  std::optional<double> least;
  while (true) {
    while (group.ends_with('/')) group.pop_back();
    least = smaller(least, quota_at(read, mount + group, version_2));
    if (group.empty()) return least;
    group.erase(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

bool names_cpu(std::string_view controllers) {
  for (std::size_t begin = 0; begin <= controllers.size();) {
    const auto end = std::min(controllers.find(',', begin), controllers.size());
    if (controllers.substr(begin, end - begin) == "cpu") return true;
    begin = end + 1;
  }
  return false;
}

int cores_of_affinity(int otherwise) {
  for (int most = 1024; most <= 1 << 20; most *= 2) {
    std::vector<cpu_set_t> set((static_cast<std::size_t>(most) + CPU_SETSIZE - 1) / CPU_SETSIZE);
    const auto bytes = set.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, set.data()) == 0) return std::max(1, CPU_COUNT_S(bytes, set.data()));
    if (errno != EINVAL) break;  // there: the kernel's set is larger
  }
  return otherwise;
}

}  // namespace

std::optional<double> cpu_quota(const ReadText& read) {
  std::istringstream lines(read("/proc/self/cgroup").value_or(""));
  std::optional<double> least;
  for (std::string line; std::getline(lines, line);) {  // HIERARCHY:CONTROLLERS:PATH
    const auto first = line.find(':'), second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    const bool version_2 = controllers.empty();
    if (!version_2 && !names_cpu(controllers)) continue;
    for (const auto& mount : version_2 ? std::vector<std::string>{"", "/unified"} : std::vector<std::string>{"/" + controllers, "/cpu"})
      least = smaller(least, quota_up_from(read, "/sys/fs/cgroup" + mount, group, version_2));
  }
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
  cores.quota = cpu_quota(read_file);
  return cores;
}

std::string describe(const UsableCores& cores) {
  const auto quota = cores.quota ? fmt::format("{:.3g}", *cores.quota) : "none";
  return fmt::format("machine {}, affinity mask {}, cgroup quota {}", cores.machine, cores.affinity, quota);
}

}  // namespace tenon

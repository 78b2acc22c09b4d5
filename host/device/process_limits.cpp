#include "device/process_limits.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <thread>
#include <vector>

namespace tenon {
namespace {

bool names(std::string_view controllers, std::string_view controller) {
  for (std::size_t begin = 0; begin <= controllers.size();) {
    const auto end = std::min(controllers.find(',', begin), controllers.size());
    if (controllers.substr(begin, end - begin) == controller) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::optional<std::string> read_system_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return {};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void each_cgroup(const ReadText& read, std::string_view controller,
                 const std::function<void(const std::string& folder, bool version_2)>& visit) {
  std::istringstream lines(read("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {  // HIERARCHY:CONTROLLERS:PATH
    const auto first = line.find(':'),
               second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const bool version_2 = controllers.empty();
    if (!version_2 && !names(controllers, controller)) continue;
    for (const auto& mount :
         version_2 ? std::vector<std::string>{"", "/unified"}
                   : std::vector<std::string>{"/" + controllers, '/' + std::string(controller)}) {
      for (auto group = line.substr(second + 1);;
           group.erase(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'))) {
        while (group.ends_with('/')) group.pop_back();
        visit(std::string("/sys/fs/cgroup").append(mount).append(group), version_2);
        if (group.empty()) break;
      }
    }
  }
}

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

namespace {

constexpr auto no_limit = std::numeric_limits<std::uint64_t>::max();

// `max` and other text that is not a number mean no limit.
std::uint64_t number_in(const std::optional<std::string>& text) {
  std::uint64_t number = no_limit;
  if (text && std::from_chars(text->data(), text->data() + text->size(), number).ec != std::errc())
    return no_limit;
  return number;
}

/// Returns the number after `name` in lines of names and numbers; 0 if there is none.
std::uint64_t field(const std::optional<std::string>& text, std::string_view name) {
  std::istringstream lines(text.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t number = 0;
    if (words >> word >> number && word == name) return number;
  }
  return 0;
}

std::uint64_t remaining(std::uint64_t limit, std::uint64_t used) {
  return limit == no_limit ? no_limit : limit - std::min(limit, used);
}

std::uint64_t cgroup_remaining(const ReadText& read, const std::string& folder, bool version_2) {
  const auto limit =
      number_in(read(folder + (version_2 ? "/memory.max" : "/memory.limit_in_bytes")));
  if (limit == no_limit) return no_limit;
  const auto used =
      number_in(read(folder + (version_2 ? "/memory.current" : "/memory.usage_in_bytes")));
  if (used == no_limit) return limit;
  const auto droppable =
      field(read(folder + "/memory.stat"), version_2 ? "inactive_file" : "total_inactive_file");
  return remaining(limit, used - std::min(used, droppable));
}

std::uint64_t machine_remaining(const ReadText& read) {
  const auto text = read("/proc/meminfo");
  const auto available = field(text, "MemAvailable:");
  return available == 0 ? no_limit : (available + field(text, "SwapFree:")) * 1024;
}

/// Address space and resident set, from /proc/self/statm.
struct Used {
  std::uint64_t space = 0, resident = 0;
};

Used used_by_process(const ReadText& read) {
  std::istringstream words(read("/proc/self/statm").value_or(""));
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  Used used;
  if (!(words >> used.space >> used.resident)) return {};
  return {used.space * page, used.resident * page};
}

}  // namespace

AvailableMemory available_memory(std::uint64_t process_limit, const ReadText& read) {
  AvailableMemory least{no_limit, "the machine's memory"};
  const auto consider = [&](std::uint64_t bytes, const char* limit) {
    if (bytes < least.bytes) least = {bytes, limit};
  };
  consider(machine_remaining(read), least.limit);
  each_cgroup(read, "memory", [&](const std::string& folder, bool version_2) {
    consider(cgroup_remaining(read, folder, version_2), "the cgroup's memory limit");
  });
  const auto used = used_by_process(read);
  if (rlimit space{}; ::getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
    consider(remaining(space.rlim_cur, used.space), "the address space limit");
  if (process_limit > 0) consider(remaining(process_limit, used.resident), "the memory limit");
  return least;
}

}  // namespace tenon

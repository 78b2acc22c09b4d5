#include "device/available_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <limits>
#include <sstream>

namespace tenon {
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

// Memory available to a process, parsed from the text of system files.
#include <doctest/doctest.h>
#include <unistd.h>

#include <map>

#include "../memory/address_space_limit.hpp"
#include "device/process_limits.hpp"

using tenon::available_memory;

namespace {

using Files = std::map<std::string, std::string>;

tenon::ReadText reader(const Files& files) {
  return [&files](const std::string& path) {
    const auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  };
}

std::string pages(std::uint64_t bytes) {
  return std::to_string(bytes / static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}

}  // namespace

TEST_CASE("available memory: the smallest limit, with its name") {
  constexpr std::uint64_t megabyte = 1 << 20;
  const std::string machine =
      "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable: 4096 kB\nSwapFree: 1024 kB\n";
  const std::string statm = pages(64 * megabyte) + ' ' + pages(megabyte) + " 0 0 0 0 0\n";
  const struct {
    const char* what;
    Files files;
    std::uint64_t own_limit;
    std::uint64_t bytes;
    std::string limit;
  } rows[] = {
      {"nothing can be read", {}, 0, ~std::uint64_t{0}, "the machine's memory"},
      {"the machine, including free swap",
       {{"/proc/meminfo", machine}},
       0,
       5 * megabyte,
       "the machine's memory"},
      {"an own limit on resident memory",
       {{"/proc/meminfo", machine}, {"/proc/self/statm", statm}},
       3 * megabyte,
       2 * megabyte,
       "the memory limit"},
      {"an own limit that is already exceeded",
       {{"/proc/self/statm", statm}},
       megabyte / 2,
       0,
       "the memory limit"},
      {"cgroup v2 with reclaimable files",
       {{"/proc/self/cgroup", "0::/a/b\n"},
        {"/sys/fs/cgroup/a/b/memory.max", "max\n"},
        {"/sys/fs/cgroup/a/memory.max", "1000\n"},
        {"/sys/fs/cgroup/a/memory.current", "900\n"},
        {"/sys/fs/cgroup/a/memory.stat", "anon 500\ninactive_file 300\nactive_file 7\n"}},
       0,
       400,
       "the cgroup's memory limit"},
      {"cgroup v2 without current usage",
       {{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/memory.max", "1000\n"}},
       0,
       1000,
       "the cgroup's memory limit"},
      {"cgroup v1",
       {{"/proc/self/cgroup", "5:memory:/box\n4:cpu:/box\n"},
        {"/sys/fs/cgroup/memory/box/memory.limit_in_bytes", "2000\n"},
        {"/sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1900\n"},
        {"/sys/fs/cgroup/memory/box/memory.stat", "inactive_file 1\ntotal_inactive_file 50\n"}},
       0,
       150,
       "the cgroup's memory limit"},
      {"usage above the limit",
       {{"/proc/self/cgroup", "0::/\n"},
        {"/sys/fs/cgroup/memory.max", "1000\n"},
        {"/sys/fs/cgroup/memory.current", "5000\n"}},
       0,
       0,
       "the cgroup's memory limit"},
      {"more reclaimable than used",
       {{"/proc/self/cgroup", "0::/\n"},
        {"/sys/fs/cgroup/memory.max", "1000\n"},
        {"/sys/fs/cgroup/memory.current", "100\n"},
        {"/sys/fs/cgroup/memory.stat", "inactive_file 300\n"}},
       0,
       1000,
       "the cgroup's memory limit"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    const auto found = available_memory(row.own_limit, reader(row.files));
    CHECK(found.bytes == row.bytes);
    CHECK(found.limit == row.limit);
  }
}

TEST_CASE("available memory: includes the address space limit of this process") {
  const Files files{{"/proc/self/statm", pages(3 << 20) + " 1 0 0 0 0 0\n"}};
  const AddressSpaceLimit limit(std::uint64_t{1} << 50);  // far more than any test uses
  const auto found = available_memory(0, reader(files));
  CHECK(found.bytes == (std::uint64_t{1} << 50) - (3 << 20));
  CHECK(found.limit == std::string("the address space limit"));
}

TEST_CASE("available memory: this machine has some") {
  CHECK(available_memory(0).bytes > 0);
  CHECK(available_memory(1).bytes == 0);
}

// Cores that a process may use, parsed from cgroup files, and from its actual affinity mask.
#include <doctest/doctest.h>
#include <sched.h>

#include <map>
#include <thread>

#include "device/process_limits.hpp"
#include "device/threads.hpp"

using tenon::cpu_quota;
using tenon::UsableCores;

namespace {

using Files = std::map<std::string, std::string>;

std::optional<double> quota_of(const Files& files) {
  return cpu_quota([&](const std::string& path) {
    const auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  });
}

}  // namespace

TEST_CASE("cgroups: the smallest quota of all ancestors applies") {
  const struct {
    const char* what;
    Files files;
    std::optional<double> quota;
  } rows[] = {
      {"no cgroups", {}, {}},
      {"cgroup v2 in a container",
       {{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "150000 100000\n"}},
       1.5},
      {"cgroup v2 without a limit",
       {{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "max 100000\n"}},
       {}},
      {"cgroup v2, limit of an ancestor",
       {{"/proc/self/cgroup", "0::/user.slice/a.scope\n"},
        {"/sys/fs/cgroup/user.slice/a.scope/cpu.max", "max 100000\n"},
        {"/sys/fs/cgroup/user.slice/cpu.max", "200000 50000\n"}},
       4.0},
      {"cgroup v2, smallest of three",
       {{"/proc/self/cgroup", "0::/a/b/c\n"},
        {"/sys/fs/cgroup/a/b/c/cpu.max", "500000 100000\n"},
        {"/sys/fs/cgroup/a/b/cpu.max", "300000 100000\n"},
        {"/sys/fs/cgroup/a/cpu.max", "400000 100000\n"}},
       3.0},
      {"cgroup v1",
       {{"/proc/self/cgroup", "5:memory:/box\n4:cpu,cpuacct:/box\n1:name=systemd:/box\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us", "250000\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us", "100000\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"}},
       2.5},
      {"cgroup v1 in a container with the outer path",
       {{"/proc/self/cgroup", "4:cpu:/docker/0123\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
       0.5},
      {"cgroup v1 without a limit",
       {{"/proc/self/cgroup", "4:cpu:/\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
       {}},
      {"cpuset is not cpu",
       {{"/proc/self/cgroup", "4:cpuset,cpuacct:/\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
       {}},
      {"both versions",
       {{"/proc/self/cgroup", "4:cpu,cpuacct:/\n0::/\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "700000\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
        {"/sys/fs/cgroup/unified/cpu.max", "600000 100000\n"}},
       6.0},
      {"invalid text",
       {{"/proc/self/cgroup", "0\n::\n0::/\n"}, {"/sys/fs/cgroup/cpu.max", "100000 0\n"}},
       {}},
      {"incomplete line",
       {{"/proc/self/cgroup", "0::/"}, {"/sys/fs/cgroup/cpu.max", "100000"}},
       {}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    CHECK(quota_of(row.files) == row.quota);
  }
}

TEST_CASE("usable cores: a fraction counts as one core, and there is at least one") {
  CHECK(UsableCores{64, 8, {}}.count() == 8);
  CHECK(UsableCores{64, 8, 1.5}.count() == 2);
  CHECK(UsableCores{64, 8, 2.0}.count() == 2);
  CHECK(UsableCores{64, 8, 0.2}.count() == 1);
  CHECK(UsableCores{64, 8, 100.0}.count() == 8);
  CHECK(UsableCores{64, 8, 1e300}.count() == 8);
  CHECK(describe(UsableCores{64, 8, 1.5}) == "machine 64, affinity mask 8, cgroup quota 1.5");
  CHECK(describe(UsableCores{4, 4, {}}) == "machine 4, affinity mask 4, cgroup quota none");
}

TEST_CASE("usable cores: a thread bound to one core gets one thread") {
  const auto before = tenon::usable_cores();
  CHECK(tenon::Threads().count() == before.count());
  int bound = 0, threads = 0;
  std::thread([&] {  // the mask belongs to the thread
    cpu_set_t mask;
    sched_getaffinity(0, sizeof mask, &mask);
    int first = 0;
    while (!CPU_ISSET(first, &mask)) ++first;
    CPU_ZERO(&mask);
    CPU_SET(first, &mask);
    REQUIRE(sched_setaffinity(0, sizeof mask, &mask) == 0);
    bound = tenon::usable_cores().affinity;
    threads = tenon::Threads().count();
  })
      .join();
  CHECK(bound == 1);
  CHECK(threads == 1);
}

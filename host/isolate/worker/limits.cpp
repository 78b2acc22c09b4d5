#include "isolate/worker/limits.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "isolate/worker/system_calls.hpp"

#if defined(__SANITIZE_ADDRESS__)
// AddressSanitizer hook: its leak check needs another process, which is not allowed here.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" int __lsan_is_turned_off() {
  return 1;
}
#endif

namespace tenon::isolate {
namespace {

// Landlock restricts the files that a process may use. The kernel's constants, because its header
// may be older than the kernel.
constexpr long create_ruleset_call = 444, add_rule_call = 445, restrict_self_call = 446;
constexpr std::uint32_t create_ruleset_version = 1, path_beneath = 1;
constexpr std::uint64_t read_file = 4, read_folder = 8;

struct Ruleset {
  std::uint64_t files, network, scoped;
};
struct [[gnu::packed]] PathRule {
  std::uint64_t allowed;
  std::int32_t folder;
};

/// Returns all rights known to this version, because the kernel refuses unknown bits.
Ruleset all_of(long version) {
  Ruleset all{};
  all.files = (std::uint64_t{1} << 13) - 1;
  if (version >= 2) all.files |= 1u << 13;
  if (version >= 3) all.files |= 1u << 14;
  if (version >= 4) all.network = 3;
  if (version >= 5) all.files |= 1u << 15;
  if (version >= 6) all.scoped = 3;  // abstract sockets and signals
  return all;
}

std::size_t size_of_ruleset(long version) {
  return version >= 6 ? 24 : version >= 4 ? 16 : 8;
}

/// Allows reading a file, or a folder and everything below it. Skips paths that do not exist.
void allow_reading(int rules, const std::string& path) {
  const int descriptor = open(path.c_str(), O_PATH | O_CLOEXEC);
  struct stat status {};
  if (descriptor >= 0 && fstat(descriptor, &status) == 0) {
    const PathRule rule{S_ISDIR(status.st_mode) ? read_file | read_folder : read_file, descriptor};
    syscall(add_rule_call, rules, path_beneath, &rule, 0);
  }
  if (descriptor >= 0) close(descriptor);
}

/// Returns the folders of libraries in the loader's cache, because /etc/ld.so.conf may list any
/// folder.
std::set<std::string> folders_of_cache() {
  std::set<std::string> folders;
  std::ifstream cache("/etc/ld.so.cache", std::ios::binary);
  for (std::string text; std::getline(cache, text, '\0');)
    if (const auto slash = text.rfind('/'); text.starts_with('/') && slash > 0)
      folders.insert(text.substr(0, slash));
  return folders;
}

/// Returns the folders of LD_LIBRARY_PATH, which the loader searches first.
std::vector<std::string> folders_of_environment() {
  std::vector<std::string> folders;
  const char* list = std::getenv("LD_LIBRARY_PATH");
  std::istringstream entries(list != nullptr ? list : "");
  for (std::string folder; std::getline(entries, folder, ':');)
    if (folder.find_first_not_of('/') != std::string::npos && folder.starts_with('/'))
      folders.push_back(folder);
  return folders;
}

int make_rules() {
  const long version = syscall(create_ruleset_call, nullptr, 0, create_ruleset_version);
  if (version < 1) return -1;
  const auto all = all_of(version);
  return static_cast<int>(syscall(create_ruleset_call, &all, size_of_ruleset(version), 0));
}

bool restrict_self(int rules) {
  const bool done = syscall(restrict_self_call, rules, 0) == 0;
  close(rules);
  return done;
}

/// Forbids all file access except reading what the system's loader needs to find the system's
/// libraries, what those read about the machine, and `libraries`. Applies to the calling thread and
/// threads it starts. Returns false if the kernel lacks Landlock or it is disabled.
bool forbid_files_but_libraries(std::span<char* const> libraries) {
  const int rules = make_rules();
  if (rules < 0) return false;
  for (const char* path :
       {"/usr", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/ld.so.preload",
        "/etc/localtime", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/proc/self",
        "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/filesystems", "/sys/devices/system",
        "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage"})
    allow_reading(rules, path);
  for (const auto& folder : folders_of_cache()) allow_reading(rules, folder);
  for (const auto& folder : folders_of_environment()) allow_reading(rules, folder);
  for (const char* library : libraries) allow_reading(rules, library);
  return restrict_self(rules);
}

/// Forbids all file access.
bool forbid_files() {
  const int rules = make_rules();
  return rules >= 0 && restrict_self(rules);
}

// Sanitizers map more memory at startup than any limit allows.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool can_limit_memory = false;
#else
constexpr bool can_limit_memory = true;
#endif

void limit(decltype(RLIMIT_CORE) what, std::uint64_t max_value) {
  rlimit now{};
  if (getrlimit(what, &now) != 0) return;
  const rlim_t lower = now.rlim_max == RLIM_INFINITY || max_value < now.rlim_max
                           ? static_cast<rlim_t>(max_value)
                           : now.rlim_max;
  const rlimit requested{lower, lower};
  setrlimit(what, &requested);
}

/// Drops capabilities, for example of root; has no effect without any.
void drop_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  syscall(SYS_capset, &header, none);
}

}  // namespace

std::string Confinement::text() const {
  return std::string(seccomp ? "seccomp, " : "") + (landlock ? "landlock, " : "") + "rlimits";
}

void limit_resources(std::uint64_t memory, int libraries) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, 1024 + static_cast<std::uint64_t>(libraries));
  if (memory > 0 && can_limit_memory) limit(RLIMIT_DATA, memory);
}

void confine_loading(std::span<char* const> libraries) {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  drop_capabilities();
  forbid_files_but_libraries(libraries);
  forbid_system_calls(Stage::loading);
}

Confinement confine_calls() {
  // without seccomp, an initializer of the plugin may have changed it
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Confinement confinement;
  confinement.landlock = forbid_files();
  confinement.seccomp = forbid_system_calls(Stage::calls);
  return confinement;
}

}  // namespace tenon::isolate

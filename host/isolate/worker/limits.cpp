#include "isolate/worker/limits.hpp"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

#include "isolate/worker/landlock.hpp"
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

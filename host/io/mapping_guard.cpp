#include "io/mapping_guard.hpp"

#include <signal.h>

#include <cerrno>
#include <mutex>
#include <tenon/host/mapped_files.hpp>

#include "io/mapped_range.hpp"

namespace tenon {

bool repair_mapping(const void* address) noexcept {
  const int error = errno;
  const bool repaired = MappedRange::repair(address);
  errno = error;
  return repaired;
}

static struct sigaction before;  // written once, before the handler is installed

// Acts as if there were no handler. A faulting access is repeated after returning; a signal that
// was sent is sent again and arrives after returning.
static void default_action(int signal, const siginfo_t& info) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
  if (info.si_code <= 0) ::raise(signal);
}

static void on_bus_error(int signal, siginfo_t* info, void* context) {
  const bool from_the_system = info->si_code > 0;
  if (from_the_system && repair_mapping(info->si_addr)) return;
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler == SIG_IGN && !from_the_system) return;
  if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)
    return default_action(signal, *info);
  before.sa_handler(signal);
}

void install_mapping_guard() {
  static std::once_flag once;
  std::call_once(once, [] {
    ::sigaction(SIGBUS, nullptr, &before);
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigaction(SIGBUS, &action, nullptr);
  });
}

void guard_mapped_files() {
  install_mapping_guard();
}

}  // namespace tenon

#include "io/crash/crash_handler.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <tenon/host/crash.hpp>

#include "io/at_end.hpp"
#include "io/crash/active_call.hpp"
#include "io/crash/fault_access.hpp"
#include "io/crash/signal_stack.hpp"
#include "io/crash/watched_process.hpp"
#include "io/mapped_range.hpp"

// AddressSanitizer's leak check, which it runs at exit(); null in programs without it.
extern "C" __attribute__((weak)) void
__lsan_do_leak_check();  // NOLINT(bugprone-reserved-identifier)

namespace tenon {
namespace {

constexpr int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
struct sigaction previous[std::size(crash_signals)];

std::atomic<bool> installed = false, report_all = false;
std::atomic<pid_t> crashing_thread = 0;
pid_t installed_in = 0;
std::atomic<bool> copied = false;
CrashReport copy_report;
thread_local bool forks_in_plugin = false;

struct sigaction& before_of(int signal) {
  std::size_t i = 0;
  while (crash_signals[i] != signal) ++i;
  return previous[i];
}

bool runs_plugin() noexcept {
  const auto* slot = CallSlot::here_if_any();
  return slot != nullptr && slot->current() != nullptr;
}

void fill_in_address(CrashReport& report, const siginfo_t& info, const void* context) noexcept {
  if (info.si_code <= 0 || (report.number != SIGSEGV && report.number != SIGBUS)) return;
  report.address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  report.has_address = true;
  report.access = access_of_fault(context);
#if defined(__x86_64__)
  const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  constexpr std::uint64_t general_protection = 13, reach = 64 << 10;
  // a general protection fault reports no valid address
  if (registers[REG_TRAPNO] == general_protection) report.has_address = false;
  const auto stack = static_cast<std::uint64_t>(registers[REG_RSP]);
  report.stack_overflow =
      report.number == SIGSEGV && report.address < stack + reach && report.address + reach > stack;
#elif defined(__aarch64__)
  constexpr std::uint64_t reach = 64 << 10;
  const std::uint64_t stack = static_cast<const ucontext_t*>(context)->uc_mcontext.sp;
  report.stack_overflow =
      report.number == SIGSEGV && report.address < stack + reach && report.address + reach > stack;
#else
  static_cast<void>(context);
#endif
}

/// Acts as if our handler did not exist. A fault is repeated after returning.
void go_on(int signal, siginfo_t* info, void* context) noexcept {
  const auto& old = before_of(signal);
  if ((old.sa_flags & SA_SIGINFO) != 0) return old.sa_sigaction(signal, info, context);
  if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) return old.sa_handler(signal);
  struct sigaction ends {};
  ends.sa_handler = SIG_DFL;
  sigaction(signal, &ends, nullptr);
  if (info->si_code <= 0 || signal == SIGABRT) raise(signal);
}

bool has_handler_before(int signal) noexcept {
  const auto& old = before_of(signal);
  return (old.sa_flags & SA_SIGINFO) != 0 ||
         (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN);
}

void on_crash(int signal, siginfo_t* info, void* context) {
  if (signal == SIGBUS && info->si_code > 0 && repair_mapping(info->si_addr)) return;
  const int error = errno;
  const bool is_whole_program = report_all.load();
  if (is_whole_program || runs_plugin()) {
    // Other crashing threads wait until the first one ends the process, or until its fault is
    // repaired.
    for (pid_t no_thread = 0;
         !crashing_thread.compare_exchange_strong(no_thread, gettid()) && no_thread != gettid();
         no_thread = 0) {
      constexpr timespec moment{0, 1'000'000};
      nanosleep(&moment, nullptr);
    }
    CrashReport report;
    report.number = signal;
    fill_in_address(report, *info, context);
    report.find_source(CallSlot::here_if_any());
    submit_report(report);
    if (is_whole_program && !is_watched() && !has_handler_before(signal))
      _exit(static_cast<int>(FailureKind::failed));
  }
  go_on(signal, info, context);
  // the previous handler has repaired the fault
  if (has_handler_before(signal)) crashing_thread = 0;
  errno = error;
}

void on_exit_of_plugin(int status, void*) {
  if (is_at_end()) _exit(status);
  if (copied.load()) _exit(status);  // unwritten output belongs to the original process
  if (getpid() != installed_in || (!report_all.load() && !runs_plugin())) return;
  CrashReport report;
  report.kind = CrashReport::Kind::exited;
  report.number = status & 0xff;
  report.find_source(CallSlot::here_if_any());
  submit_report(report);
  _exit(static_cast<int>(FailureKind::failed));
}

// Plugins may fork as long as the copy does not return. The caller is determined before the fork,
// because the copy may see a later state.
void before_fork() {
  forks_in_plugin = runs_plugin();
  if (!forks_in_plugin) return;
  copy_report = {};
  copy_report.kind = CrashReport::Kind::copied;
  copy_report.find_source(CallSlot::here_if_any());
}

void in_copy() {
  copied = forks_in_plugin;
  detach_from_original();
}

}  // namespace

void install_crash_handlers(CrashScope scope) {
  static std::mutex installing;
  const std::lock_guard lock(installing);
  if (scope == CrashScope::program) report_all = true;
  if (installed.load()) return;
  installed_in = getpid();
  use_signal_stacks();
  CallSlot::here();
  install_thread_signal_stack();
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < std::size(crash_signals); ++i)
    sigaction(crash_signals[i], nullptr, &previous[i]);
  for (const int signal : crash_signals) sigaction(signal, &action, nullptr);
  pthread_atfork(before_fork, nullptr, in_copy);
  installed = true;
  guard_exit();
}

void guard_exit() noexcept {
  if (installed.load()) on_exit(on_exit_of_plugin, nullptr);
}

void end_copied_process() noexcept {
  if (!copied.load(std::memory_order_relaxed)) return;
  submit_report(copy_report);
  _exit(static_cast<int>(FailureKind::failed));
}

void name_crashes() {
  install_crash_handlers(CrashScope::plugins);
}

void end_process(int status) noexcept {
  end_copied_process();
  if (__lsan_do_leak_check != nullptr) __lsan_do_leak_check();
  // otherwise a plugin closed stderr, and errors went unreported
  if (status == 0 || fcntl(STDERR_FILENO, F_GETFD) >= 0) report_finished();
  // may itself end the process
  run_at_end(status);
  _exit(status);
}

void end_unwound_process() noexcept {
  CrashReport report;
  report.kind = CrashReport::Kind::unwound;
  report.find_source(CallSlot::here_if_any());
  // the unwinding passed through its caller
  if (report.source == CrashReport::CallSource::last_call)
    report.source = CrashReport::CallSource::this_thread;
  submit_report(report);
  _exit(static_cast<int>(FailureKind::failed));
}

}  // namespace tenon

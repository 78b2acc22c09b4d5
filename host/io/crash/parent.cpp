// The parent of a program's process: waits for it, forwards signals, and reports how it ended.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <tenon/host/crash.hpp>

#include "io/crash/crash_handler.hpp"
#include "io/crash/crash_memory.hpp"
#include "io/crash/watched_process.hpp"

namespace tenon {
namespace {

constexpr int forwarded_signals[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1,
                                     SIGUSR2, SIGXCPU, SIGWINCH, SIGTSTP, SIGCONT};
// seconds within which signals count as one: `timeout` sends two
constexpr double same_press = 0.1;
// seconds to wait after a second Ctrl-C before killing the process
constexpr double grace_period = 0.5;

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

bool is_traced() {
  char text[1024];
  const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const auto size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return false;
  text[size] = '\0';
  const char* tracer = std::strstr(text, "TracerPid:");
  return tracer != nullptr && std::strtol(tracer + 10, nullptr, 10) != 0;
}

/// Ends this process by the same signal, without a second core file.
[[noreturn]] void die_of(int signal) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
  _exit(128 + signal);
}

bool is_crash(int signal) {
  for (const int each : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS})
    if (each == signal) return true;
  return false;
}

class Parent {
 public:
  Parent(pid_t child, const WatchedProcess& watched, const sigset_t& signals,
         const std::function<void(const Failure&)>& report)
      : child_(child), watched_(watched), signals_(signals), report_(report) {}

  [[noreturn]] void wait() {
    for (;;) {
      look_at_child();
      siginfo_t info{};
      double left = 3600;
      for (const double at : {kill_at_, hung_at_})
        if (at > 0) left = std::clamp(at - now(), 0.0, left);
      const timespec limit{
          static_cast<time_t>(left),
          static_cast<long>((left - static_cast<double>(static_cast<time_t>(left))) * 1e9)};
      const int signal = sigtimedwait(&signals_, &info, &limit);
      if (signal > 0 && signal != SIGCHLD) forward_signal(signal, info);
      if (kill_at_ > 0 && now() >= kill_at_) {
        kill(child_, SIGKILL);
        kill_at_ = 0;
      }
      if (hung_at_ > 0 && now() >= hung_at_) end_stopped();
    }
  }

 private:
  // The child also receives signals that a terminal or a limit sends.
  void forward_signal(int signal, const siginfo_t& info) {
    if (info.si_code != SI_KERNEL && info.si_pid != child_) kill(child_, signal);
    if (signal == SIGCONT) kill(child_, SIGCONT);
    if (signal != SIGINT) return;
    if (first_interrupt_ == 0)
      first_interrupt_ = now();
    else if (now() - first_interrupt_ > same_press && kill_at_ == 0)
      kill_at_ = now() + grace_period, interrupted_ = true;
  }

  void look_at_child() {
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(child_), &info,
               WEXITED | WSTOPPED | WCONTINUED | WNOHANG) != 0 &&
        errno != EINTR)
      _exit(1);
    if (info.si_pid != child_) return;
    if (info.si_code == CLD_STOPPED)
      return info.si_status == SIGSTOP ? report_stopped() : stop_too(info.si_status);
    if (info.si_code == CLD_CONTINUED) hung_at_ = 0;
    if (info.si_code == CLD_EXITED) end_as_exited(info.si_status);
    if (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) end_as_killed(info.si_status);
  }

  // Only a plugin, or a user who knows the process number, sends SIGSTOP.
  void report_stopped() {
    const auto report = report_of(CrashReport::Kind::stopped, child_);
    if (report.source != CrashReport::CallSource::this_thread) return;
    const auto limit = call_limit();
    if (limit > 0) hung_at_ = now() + 1e-3 * limit;
    report_failure(report);
  }

  // The thread that limits the time of calls is stopped, too.
  [[noreturn]] void end_stopped() const {
    const auto report = report_of(CrashReport::Kind::hung, call_limit());
    kill(child_, SIGKILL);
    report_and_exit(report);
  }

  int call_limit() const {
    return static_cast<int>(
        std::min<std::int64_t>(watched_.call_limit.load(std::memory_order_acquire), INT_MAX));
  }

  // Stops with the child, as the shell expects of a job. When continued, continues the child.
  void stop_too(int signal) {
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    raise(signal);  // if it is blocked, it is delivered by the next line
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    sigprocmask(SIG_BLOCK, &signals_, nullptr);
    kill(child_, SIGCONT);
  }

  [[noreturn]] void end_as_exited(int code) {
    if (!watched_.reported.load(std::memory_order_acquire)) {
      if (watched_.finished.load(std::memory_order_acquire)) _exit(code);
      report_and_exit(report_of(CrashReport::Kind::exited, code));
    }
    report_and_exit(watched_.report);
  }

  [[noreturn]] void end_as_killed(int signal) {
    if (interrupted_ && signal == SIGKILL) signal = SIGINT;
    if (watched_.reported.load(std::memory_order_acquire)) report_and_exit(watched_.report);
    if (is_crash(signal)) report_and_exit(report_of(CrashReport::Kind::crashed, signal));
    if (signal != SIGPIPE)
      if (const auto report = report_of(CrashReport::Kind::signalled, signal);
          report.source == CrashReport::CallSource::this_thread)
        report_failure(report);
    die_of(signal);
  }

  static CrashReport report_of(CrashReport::Kind kind, int number) {
    CrashReport report;
    report.kind = kind;
    report.number = number;
    report.find_source(nullptr, true);
    // the crashing thread is unknown, but threads of a plugin's own are rare
    if (report.source == CrashReport::CallSource::other_thread)
      report.source = CrashReport::CallSource::this_thread;
    return report;
  }

  void report_failure(const CrashReport& report) const {
    CrashReportText text;
    describe(report, text);
    report_(Failure(FailureKind::failed, text.sentence, text.hint));
    std::fflush(stderr);
  }
  [[noreturn]] void report_and_exit(const CrashReport& report) const {
    report_failure(report);
    _exit(static_cast<int>(FailureKind::failed));
  }

  const pid_t child_;
  const WatchedProcess& watched_;
  const sigset_t& signals_;
  const std::function<void(const Failure&)>& report_;
  double first_interrupt_ = 0, kill_at_ = 0, hung_at_ = 0;  // 0 means never
  bool interrupted_ = false;
};

/// Called in the child, so that it does not outlive its parent.
void end_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(128 + SIGKILL);
}

}  // namespace

void continue_below_parent(const std::function<void(const Failure&)>& report) {
  if (std::getenv("TENON_NO_PARENT") != nullptr || is_traced() || !share_crash_memory())
    return install_crash_handlers(CrashScope::program);
  auto& watched = *new (allocate_crash_memory(sizeof(WatchedProcess))) WatchedProcess;
  CallSlot::store_list_in(watched.slots);
  std::fflush(nullptr);
  sigset_t signals, old;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  for (const int signal : forwarded_signals) sigaddset(&signals, signal);
  sigprocmask(SIG_BLOCK, &signals, &old);
  std::signal(SIGCHLD, SIG_DFL);  // if it were ignored, exit statuses of children would be lost
  const auto parent = getpid();
  const auto child = fork();
  if (child > 0) Parent(child, watched, signals, report).wait();
  if (child == 0) {
    end_with_parent(parent);
    watched.process = getpid();
    report_to_parent(&watched);
  }
  sigprocmask(SIG_SETMASK, &old, nullptr);
  install_crash_handlers(CrashScope::program);
}

}  // namespace tenon

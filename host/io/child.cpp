#include "io/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <tenon/host/failure.hpp>

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t line_limit = 4096;

[[noreturn]] void fail(const Child::StartError& start_error, int error) {
  throw Failure(FailureKind::failed,
                start_error.sentence + ": " + std::generic_category().message(error),
                start_error.hint);
}

/// Reads what is available; returns false at the end.
bool read_available(int pipe, std::string& text, std::size_t limit) {
  char chunk[4096];
  while (text.size() < limit) {
    const ssize_t bytes_read = read(pipe, chunk, std::min(sizeof chunk, limit - text.size()));
    if (bytes_read < 0 && errno == EINTR) continue;
    if (bytes_read < 0) return errno == EAGAIN;
    if (bytes_read == 0) return false;
    text.append(chunk, static_cast<std::size_t>(bytes_read));
  }
  return false;
}

/// Sets default signals and a new process group, so that whatever the child starts ends with it.
void set_attributes(posix_spawnattr_t& attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
}

std::atomic<pid_t> parent = 0;

void end_with_parent() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent had already ended
}

/// Makes this process, and what it forks, end when its parent ends in any way.
void end_with(pid_t starter) {
  parent = starter;
  end_with_parent();
  pthread_atfork([] { parent = getpid(); }, nullptr, end_with_parent);
}

/// Returns null-terminated pointers to the texts.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

OpenFile Child::open_pipe(const StartError& start_error) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail(start_error, errno);
  pipe_ = OpenFile(ends[0]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return OpenFile(ends[1]);
}

Child::Child(const std::vector<std::string>& arguments, const std::vector<int>& descriptors,
             const StartError& start_error, const std::vector<std::string>* environment) {
  const OpenFile to_write = open_pipe(start_error);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  set_attributes(attributes);
  int error = 0, number = 0;
  const auto count = static_cast<int>(descriptors.size());
  // numbered above the child's, so that no dup2 overwrites one that is still needed
  std::vector<OpenFile> sources;
  for (const int descriptor : descriptors) {
    if (descriptor == dev_null) {
      posix_spawn_file_actions_addopen(&actions, number++, "/dev/null", O_RDWR, 0);
      continue;
    }
    sources.emplace_back(
        fcntl(descriptor == report ? to_write.descriptor() : descriptor, F_DUPFD_CLOEXEC, count));
    if (sources.back().descriptor() < 0) error = errno;
    posix_spawn_file_actions_adddup2(&actions, sources.back().descriptor(), number++);
  }
  posix_spawn_file_actions_addclosefrom_np(&actions, count);
  auto pointers = pointers_to(arguments),
       variables = environment == nullptr ? std::vector<char*>() : pointers_to(*environment);
  if (error == 0)
    error = posix_spawnp(&child_, pointers[0], &actions, &attributes, pointers.data(),
                         environment == nullptr ? environ : variables.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) child_ = -1, fail(start_error, error);
}

Child::Child(const std::function<void(int report)>& work, const StartError& start_error) {
  const OpenFile to_write = open_pipe(start_error);
  std::fflush(nullptr);
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ < 0) fail(start_error, errno);
  if (child_ > 0) {
    setpgid(child_, child_);  // both processes call it, because either may run first
    return;
  }
  setpgid(0, 0);
  end_with(parent);
  // A signal must end this process to be reported, whatever handlers were inherited.
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS})
    std::signal(signal, SIG_DFL);
  work(to_write.descriptor());
  _exit(0);
}

Child::~Child() {
  if (child_ > 0) reap();
}

/// Checks without waiting or reaping: until the child is reaped, its process and group numbers
/// cannot be reused.
bool Child::has_ended() const {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) != 0)
    return errno == ECHILD;
  return info.si_pid == child_;
}

void Child::wait_for_end() const {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
    continue;
}

void Child::end() const {
  kill(-child_, SIGKILL);
}

std::optional<int> Child::reap() {
  end();
  const pid_t child = std::exchange(child_, -1);
  int status = 0;
  for (;;) {
    if (waitpid(child, &status, 0) == child) return status;
    if (errno != EINTR) return std::nullopt;
  }
}

std::optional<ChildOutcome> Child::buffered_line() {
  const auto newline = text_.find('\n');
  if (newline == std::string::npos) return std::nullopt;
  ChildOutcome outcome;
  outcome.line = text_.substr(0, newline);
  text_.erase(0, newline + 1);
  return outcome;
}

std::optional<ChildOutcome> Child::poll_line(Clock::time_point end, int wait_ms) {
  if (auto buffered = buffered_line()) return buffered;
  bool ended = child_ < 0;
  if (!ended) {
    // Waits only some milliseconds at a time, because the pipe does not show the child's end while
    // a grandchild holds it open.
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd wait{pipe_.descriptor(), POLLIN, 0};
    poll(&wait, open_ ? 1 : 0,
         static_cast<int>(std::clamp<std::int64_t>(left, 0, std::min(wait_ms, open_ ? 20 : 1))));
    ended = has_ended();
    if (open_)
      open_ = read_available(pipe_.descriptor(), text_, line_limit) ||
              text_.find('\n') != std::string::npos;
    if (auto buffered = buffered_line()) return buffered;
  }
  ChildOutcome outcome;
  outcome.timed_out = !ended && Clock::now() >= end;
  if (!ended && !outcome.timed_out) return std::nullopt;
  const auto status = child_ < 0 ? std::nullopt : reap();
  if (ended) outcome.status = status;
  return outcome;
}

ChildOutcome Child::next_line(int timeout_ms) {
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  for (;;)
    if (auto outcome = poll_line(end, 20)) return *std::move(outcome);
}

ChildOutcome Child::watch(int timeout_ms) {
  auto outcome = next_line(timeout_ms);
  if (child_ > 0) reap();
  return outcome;
}

std::pair<std::string, std::optional<int>> Child::read_all() {
  std::string text;
  pollfd wait{pipe_.descriptor(), POLLIN, 0};
  while (read_available(pipe_.descriptor(), text, text.max_size())) poll(&wait, 1, -1);
  wait_for_end();
  return {std::move(text), reap()};
}

}  // namespace tenon

#include "io/child_watch.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t line_limit = 4096;

/// Takes in what is there; false once there will be no more.
bool read_available(int pipe, std::string& text) {
  char part[512];
  while (text.size() < line_limit) {
    const ssize_t got = read(pipe, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    text.append(part, static_cast<std::size_t>(got));
  }
  return false;
}

/// Looks without waiting and without reaping: until it is reaped, its number and its group's belong to nobody else.
bool has_ended(pid_t child) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno == ECHILD;
  return info.si_pid == child;
}

std::optional<int> reap(pid_t child) {
  int status = 0;
  for (;;) {
    const pid_t got = waitpid(child, &status, 0);
    if (got == child) return status;
    if (errno != EINTR) return std::nullopt;
  }
}

}  // namespace

ChildOutcome watch_child(pid_t child, int pipe, int timeout_ms) {
  const auto end = Clock::now() + std::chrono::milliseconds(timeout_ms);
  std::string text;
  bool open = true, ended = false, timed_out = false;
  while (!ended && !timed_out && text.find('\n') == std::string::npos) {
    // Not longer than some milliseconds at a time: the pipe does not tell of the child's end while a grandchild holds it open.
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd wait{pipe, POLLIN, 0};
    poll(&wait, open ? 1 : 0, static_cast<int>(std::clamp<std::int64_t>(left, 0, open ? 20 : 1)));
    ended = has_ended(child);
    if (open) open = read_available(pipe, text);
    timed_out = Clock::now() >= end;
  }
  kill(-child, SIGKILL);
  const std::optional<int> status = reap(child);
  ChildOutcome outcome;
  if (const auto newline = text.find('\n'); newline != std::string::npos) {
    outcome.line = text.substr(0, newline);
  } else if (ended) {
    outcome.status = status;
  } else {
    outcome.timed_out = true;
  }
  return outcome;
}

}  // namespace tenon

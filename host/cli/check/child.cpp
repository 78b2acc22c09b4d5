#include "cli/check/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <tenon/failure.hpp>

#include "cli/check/guarded_memory.hpp"
#include "io/child_watch.hpp"

namespace tenon::cli {
namespace {

Outcome run_here(const Check& check, const Subject& subject) {
  try {
    return check.run(subject);
  } catch (const std::exception& error) {
    return failed(error.what());
  } catch (...) {
    return failed("something was thrown that is not a std::exception");
  }
}

/// One line, a digit for the verdict first; short enough for the watching side.
std::string line_of(const Outcome& outcome) {
  std::string line = std::to_string(static_cast<int>(outcome.verdict)) + outcome.sentence.substr(0, 2000);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return line + '\n';
}

[[noreturn]] void be_the_child(const Check& check, const Subject& subject, int pipe) {
  setpgid(0, 0);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout is for the results
  // A signal that ends this process is what is to be told, whatever handlers came along.
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS}) std::signal(signal, SIG_DFL);
  report_guard_hits(pipe);
  const auto line = line_of(run_here(check, subject));
  const auto written = write(pipe, line.data(), line.size());
  _exit(written == static_cast<ssize_t>(line.size()) ? 0 : 1);
}

Outcome outcome_of(const ChildOutcome& child, int timeout_ms) {
  if (child.line && !child.line->empty()) {
    const int verdict = child.line->front() - '0';
    if (verdict >= 0 && verdict <= static_cast<int>(Verdict::crashed)) return {static_cast<Verdict>(verdict), child.line->substr(1)};
  }
  if (child.timed_out) return {Verdict::crashed, fmt::format("did not end within {} seconds", timeout_ms / 1000)};
  if (child.status && WIFSIGNALED(*child.status))
    return {Verdict::crashed, fmt::format("died of signal {} ({})", WTERMSIG(*child.status), strsignal(WTERMSIG(*child.status)))};
  return {Verdict::crashed, "ended the process by itself"};
}

}  // namespace

Outcome run_in_child(const Check& check, const Subject& subject, int timeout_ms) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
    throw Failure(FailureKind::failed, fmt::format("no pipe for a check: {}", std::strerror(errno)));
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) be_the_child(check, subject, ends[1]);
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    throw Failure(FailureKind::failed, fmt::format("no process for a check: {}", std::strerror(errno)));
  }
  setpgid(child, child);  // both sides: whoever comes first
  auto outcome = outcome_of(watch_child(child, ends[0], timeout_ms), timeout_ms);
  close(ends[0]);
  return outcome;
}

}  // namespace tenon::cli

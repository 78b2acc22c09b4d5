// The list of checks, and how they run in a child process.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>

#include "check/check.hpp"
#include "check/guarded_memory.hpp"
#include "check/printed_text.hpp"
#include "io/child.hpp"

namespace tenon::checks {
namespace {

bool is_fault(Verdict verdict) {
  return verdict == Verdict::failed || verdict == Verdict::crashed;
}

Outcome run_here(const Check& check, const CheckedOperator& subject) {
  try {
    return check.run(subject);
  } catch (const std::exception& error) {
    return failed(error.what());
  } catch (...) {
    return failed("something was thrown that is not a std::exception");
  }
}

// What a child says of a check is one line, short enough for the watching side: a digit for the verdict, whether it ends the checks, and
// the sentence. on_bad_access() writes such lines, too.
constexpr char goes_on = ' ', ends = '.';
constexpr int lost_pipe = 86;  // the exit code of a child whose pipe a plugin closed

std::string line_of(const Outcome& outcome) {
  std::string line = std::to_string(static_cast<int>(outcome.verdict)) + (outcome.ends_checks ? ends : goes_on);
  line += outcome.sentence.substr(0, 2000);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return line + '\n';
}

void say(int pipe, const Outcome& outcome) {
  const auto line = line_of(outcome);
  if (write(pipe, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(errno == EBADF ? lost_pipe : 1);
}

/// Sanitizers take address space of their own, so nothing is limited under them.
void limit_memory([[maybe_unused]] std::uint64_t bytes) {
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  rlimit data{};
  if (bytes == 0 || getrlimit(RLIMIT_DATA, &data) != 0) return;
  data.rlim_cur = std::min<rlim_t>(bytes, data.rlim_cur);
  setrlimit(RLIMIT_DATA, &data);
#endif
}

CheckedOperator load_watched(const std::function<CheckedOperator()>& load) {
  PrintedText printed;
  auto before = std::make_shared<const ProcessState>(ProcessState::now());
  auto subject = load();
  subject.changed_by_loading = ProcessState::now().changes_since(*before);
  if (!printed.take().out.empty()) subject.changed_by_loading.emplace_back("it has printed to stdout");
  subject.before_loading = std::move(before);
  return subject;
}

[[noreturn]] void be_the_child(std::span<const Check> checks, const std::function<CheckedOperator()>& load, const CheckLimits& limits,
                               int pipe) {
  dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout is for the results
  report_guard_hits(pipe);
  limit_memory(limits.memory_bytes);
  const auto own = getpid();
  try {
    const auto subject = load_watched(load);
    for (const auto& check : checks) {
      const auto outcome = run_here(check, subject);
      if (getpid() != own) _exit(0);  // a copy that a kernel made of this process
      say(pipe, outcome);
      if (is_fault(outcome.verdict)) break;
    }
  } catch (const std::exception& error) {
    say(pipe, failed(error.what()));
  }
  _exit(0);
}

Outcome outcome_of(const ChildOutcome& child, int timeout_ms) {
  static constexpr char pipe[] = "the pipe through which the checks report, a descriptor that it did not open";
  if (child.line) {
    const int verdict = child.line->empty() ? -1 : child.line->front() - '0';
    const char more = child.line->size() < 2 ? 0 : (*child.line)[1];
    if (verdict >= 0 && verdict <= static_cast<int>(Verdict::crashed) && (more == goes_on || more == ends))
      return {static_cast<Verdict>(verdict), child.line->substr(2), more == ends};
    return {Verdict::crashed, fmt::format("wrote to {}", pipe)};
  }
  if (child.timed_out) return {Verdict::crashed, fmt::format("did not end within {} s", timeout_ms / 1000.0), true};
  if (child.status && WIFSIGNALED(*child.status))
    return {Verdict::crashed, fmt::format("died of signal {} ({})", WTERMSIG(*child.status), strsignal(WTERMSIG(*child.status)))};
  if (child.status && WEXITSTATUS(*child.status) == lost_pipe) return {Verdict::crashed, fmt::format("closed {}", pipe)};
  return {Verdict::crashed, "ended the process by itself"};
}

}  // namespace

const std::vector<Check>& checks() {
  static const std::vector<Check> all = {
      {"manifest", "the manifest says what the functions are, and every part has its sentence", check_manifest},
      {"process", "descriptors, folder, environment, signals and threads of the process stay as they were", check_process},
      {"inference", "what is inferred from less does not contradict what is inferred from all", check_inference},
      {"dtypes", "every dtype it claims runs", check_dtypes},
      {"shapes", "empty, 0-d, odd-sized and unaligned inputs run or are refused", check_shapes},
      {"guard", "nothing outside the tensors of the call is read or written", check_guard},
      {"coverage", "every element of every output is written", check_coverage},
      {"inputs", "inputs stay as they are", check_inputs},
      {"in_place", "in place gives the same as out of place", check_in_place},
      {"add", "write mode add gives old plus new", check_add},
      {"determinism", "the same seed and inputs give the same bits, on 1 and 4 threads", check_determinism},
      {"instances", "two instances run at once", check_instances},
      {"float_modes", "rounding, subnormal numbers, traps and the x87 stack stay as they were", check_float_modes},
      {"save_load", "parameters survive save and load", check_save_load},
      {"gradient", "the gradient matches finite differences", check_gradient},
      {"sparse", "sparse kernels and gradients match dense ones", check_sparse},
      {"bounds", "every bound in the manifest is enforced", check_bounds},
      {"parameters", "unknown and mistyped parameters are refused", check_parameters},
  };
  return all;
}

void run_in_children(std::span<const Check> checks, const std::function<CheckedOperator()>& load, const CheckLimits& limits,
                     const std::function<void(const Check&, Outcome)>& report) {
  std::optional<Child> child;
  const Child::StartError no_child{"no process for the checks could be started", ""};
  std::string death;  // at this check, of a child that had run others before it
  std::string rest;   // why all others are skipped
  for (std::size_t i = 0; i < checks.size();) {
    if (!rest.empty()) {
      report(checks[i++], skipped(rest));
      continue;
    }
    const bool first = !child;
    if (first) child.emplace([&](int pipe) { be_the_child(checks.subspan(i), load, limits, pipe); }, no_child);
    const auto said = child->next_line(limits.time_ms);
    auto outcome = outcome_of(said, limits.time_ms);
    if (is_fault(outcome.verdict)) child.reset();
    if (!first && !said.line && !said.timed_out) {
      death = outcome.sentence;
      continue;
    }
    if (!death.empty() && !is_fault(outcome.verdict))
      outcome = {Verdict::crashed, death + " after earlier checks, though not without them: one of them may have damaged memory"};
    death.clear();
    if (outcome.ends_checks)
      rest = fmt::format("the check '{}' {}", checks[i].name, said.timed_out ? outcome.sentence : "found what other checks cannot bear");
    report(checks[i++], std::move(outcome));
  }
}

}  // namespace tenon::checks

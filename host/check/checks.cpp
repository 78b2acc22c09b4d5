// The list of checks, and how they run in a child process.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>

#include "check/check.hpp"
#include "check/guarded_memory.hpp"
#include "io/child.hpp"
#include "io/counted.hpp"

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

/// One line, a digit for the verdict first; short enough for the watching side.
std::string line_of(const Outcome& outcome) {
  std::string line = std::to_string(static_cast<int>(outcome.verdict)) + outcome.sentence.substr(0, 2000);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return line + '\n';
}

[[noreturn]] void be_the_child(std::span<const Check> checks, const CheckedOperator& subject, int pipe) {
  dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout is for the results
  report_guard_hits(pipe);
  for (const auto& check : checks) {
    const auto outcome = run_here(check, subject);
    const auto line = line_of(outcome);
    if (write(pipe, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(1);
    if (is_fault(outcome.verdict)) break;
  }
  _exit(0);
}

Outcome outcome_of(const ChildOutcome& child, int timeout_ms) {
  if (child.line) {
    const int verdict = child.line->empty() ? -1 : child.line->front() - '0';
    if (verdict >= 0 && verdict <= static_cast<int>(Verdict::crashed)) return {static_cast<Verdict>(verdict), child.line->substr(1)};
    return {Verdict::crashed, "wrote to the pipe through which the checks report, a descriptor that it did not open"};
  }
  if (child.timed_out) return {Verdict::crashed, "did not end within " + counted(timeout_ms / 1000, "second")};
  if (child.status && WIFSIGNALED(*child.status))
    return {Verdict::crashed, fmt::format("died of signal {} ({})", WTERMSIG(*child.status), strsignal(WTERMSIG(*child.status)))};
  return {Verdict::crashed, "ended the process by itself"};
}

}  // namespace

const std::vector<Check>& checks() {
  static const std::vector<Check> all = {
      {"manifest", "the manifest says what the functions are, and every part has its sentence", check_manifest},
      {"inference", "what is inferred from less does not contradict what is inferred from all", check_inference},
      {"dtypes", "every dtype it claims runs", check_dtypes},
      {"shapes", "empty, 0-d, odd-sized and unaligned inputs run or are refused", check_shapes},
      {"guard", "nothing outside the tensors is read or written", check_guard},
      {"coverage", "every element of every output is written", check_coverage},
      {"inputs", "inputs stay as they are", check_inputs},
      {"in_place", "in place gives the same as out of place", check_in_place},
      {"add", "write mode add gives old plus new", check_add},
      {"determinism", "the same seed and inputs give the same bits, on 1 and 4 threads", check_determinism},
      {"instances", "two instances run at once", check_instances},
      {"float_modes", "rounding, subnormal numbers and traps stay as they were", check_float_modes},
      {"save_load", "parameters survive save and load", check_save_load},
      {"gradient", "the gradient matches finite differences", check_gradient},
      {"sparse", "sparse kernels and gradients match dense ones", check_sparse},
      {"bounds", "every bound in the manifest is enforced", check_bounds},
      {"parameters", "unknown and mistyped parameters are refused", check_parameters},
  };
  return all;
}

void run_in_children(std::span<const Check> checks, const CheckedOperator& subject, int timeout_ms,
                     const std::function<void(const Check&, Outcome)>& report) {
  std::optional<Child> child;
  const Child::StartError no_child{"no process for the checks could be started", ""};
  std::string death;  // at this check, of a child that had run others before it
  for (std::size_t i = 0; i < checks.size();) {
    const bool first = !child;
    if (first) child.emplace([&](int pipe) { be_the_child(checks.subspan(i), subject, pipe); }, no_child);
    const auto said = child->next_line(timeout_ms);
    auto outcome = outcome_of(said, timeout_ms);
    if (is_fault(outcome.verdict)) child.reset();
    if (!first && !said.line && !said.timed_out) {
      death = outcome.sentence;
      continue;
    }
    if (!death.empty() && !is_fault(outcome.verdict))
      outcome = {Verdict::crashed, death + " after earlier checks, though not without them: one of them may have damaged memory"};
    death.clear();
    report(checks[i++], std::move(outcome));
  }
}

}  // namespace tenon::checks

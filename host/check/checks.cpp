// The list of checks, and how one runs in a process of its own.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "check/check.hpp"
#include "check/guarded_memory.hpp"
#include "io/child.hpp"

namespace tenon::checks {
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
  dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout is for the results
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

Outcome run_in_child(const Check& check, const Subject& subject, int timeout_ms) {
  Child child([&](int pipe) { be_the_child(check, subject, pipe); }, {"no process for a check", ""});
  return outcome_of(child.watch(timeout_ms), timeout_ms);
}

}  // namespace tenon::checks

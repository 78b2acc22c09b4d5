#include "check/operator_checks.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstring>
#include <utility>

#include "check/calls/told_lines.hpp"

namespace tenon::checks {
namespace {

constexpr std::size_t max_calls = 10'000;  // remembered per check

Outcome outcome_of(const ChildOutcome& child, int timeout_ms) {
  static constexpr char pipe[] =
      "the pipe on which the checks report, a descriptor that it did not open";
  if (child.line) {
    if (auto outcome = outcome_in(*child.line)) return *outcome;
    return {Verdict::crashed, fmt::format("wrote to {}", pipe)};
  }
  if (child.timed_out)
    return {Verdict::crashed, fmt::format("did not end within {} s", timeout_ms / 1000.0), true};
  if (child.status && WIFSIGNALED(*child.status))
    return {Verdict::crashed, fmt::format("died of signal {} ({})", WTERMSIG(*child.status),
                                          strsignal(WTERMSIG(*child.status)))};
  if (child.status && WEXITSTATUS(*child.status) == lost_pipe)
    return {Verdict::crashed, fmt::format("closed {}", pipe)};
  return {Verdict::crashed, "exited the process"};
}

}  // namespace

bool OperatorChecks::step(int wait_ms) {
  if (!rest_.empty()) return report(skipped(rest_)), true;
  if (!child_) start();
  const auto said = child_->poll_line(deadline_, wait_ms);
  if (!said) return false;
  if (said->line && is_call(*said->line)) {
    call_ = said->line->substr(1);
    question_.clear();
    if (calls_.size() < max_calls) calls_.push_back(call_);
    return true;
  }
  if (said->line && is_question(*said->line)) {
    question_ = said->line->substr(1);
    call_.clear();
    return true;
  }
  if (said->line && is_crash_place(*said->line)) {
    crash_place_ = said->line->substr(1);
    return true;
  }
  settle(*said);
  return true;
}

void OperatorChecks::start() {
  static const Child::StartError no_child{"no process for the checks could be started", ""};
  const auto work = [&](int pipe) {
    if (has_died_) tell_inputs_asked();
    be_the_child(checks_.subspan(next_), load_, limits_, pipe);
  };
  child_.emplace(work, no_child);
  deadline_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(limits_.time_ms);
  first_of_child_ = true;
}

void OperatorChecks::settle(const ChildOutcome& said) {
  auto outcome = outcome_of(said, limits_.time_ms);
  const auto backtrace =
      crash_place_.empty() ? std::string() : "; backtrace: " + std::exchange(crash_place_, {});
  if (is_fault(outcome.verdict)) child_.reset();
  const bool died = !said.line && !said.timed_out,
             of_unknown_inputs = !question_.empty() && !has_died_;
  has_died_ = has_died_ || died;
  if (died && (!first_of_child_ || of_unknown_inputs)) {
    death_ = outcome.sentence + (first_of_child_ ? ", but not when it was checked again"
                                                 : " after earlier checks, but not without them: "
                                                   "one of them may have corrupted memory");
    death_ += backtrace;
    forget_calls();
    return;
  }
  if (outcome.verdict == Verdict::crashed) outcome.sentence += backtrace;
  if (outcome.ends_checks)
    rest_ = fmt::format(
        "the check '{}' {}", checks_[next_].name,
        said.timed_out ? outcome.sentence : "found a fault that makes other checks impossible");
  if (is_fault(outcome.verdict) && !call_.empty() &&
      outcome.sentence.find(", with ") == std::string::npos)
    outcome.sentence += ", with " + call_;
  if (outcome.verdict == Verdict::crashed && !question_.empty())
    outcome.sentence += ", while searching for calls, with " + question_;
  if (!death_.empty() && !is_fault(outcome.verdict)) outcome = {Verdict::crashed, death_};
  death_.clear();
  report(std::move(outcome));
}

void OperatorChecks::report(Outcome outcome) {
  outcome.calls = std::move(calls_);
  forget_calls();
  first_of_child_ = false;
  deadline_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(limits_.time_ms);
  report_(checks_[next_++], std::move(outcome));
}

void OperatorChecks::forget_calls() {
  calls_.clear();
  call_.clear();
  question_.clear();
}

}  // namespace tenon::checks

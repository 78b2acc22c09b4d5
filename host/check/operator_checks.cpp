#include "check/operator_checks.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <cstring>
#include <utility>

#include "check/calls/child_protocol.hpp"

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
  if (!skip_reason_.empty()) return report(skipped(skip_reason_)), true;
  if (!child_) start();
  const auto received = child_->poll_line(deadline_, wait_ms);
  if (!received) return false;
  if (received->line && is_call(*received->line)) {
    call_ = received->line->substr(1);
    query_.clear();
    if (calls_.size() < max_calls) calls_.push_back(call_);
    return true;
  }
  if (received->line && is_query(*received->line)) {
    query_ = received->line->substr(1);
    call_.clear();
    return true;
  }
  if (received->line && is_backtrace(*received->line)) {
    backtrace_ = received->line->substr(1);
    return true;
  }
  finish_check(*received);
  return true;
}

void OperatorChecks::start() {
  static const Child::StartError no_child{"no process for the checks could be started", ""};
  const auto work = [&](int pipe) {
    if (has_crashed_) include_inputs_in_queries();
    run_child(checks_.subspan(next_), load_, limits_, pipe);
  };
  child_.emplace(work, no_child);
  deadline_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(limits_.time_ms);
  first_of_child_ = true;
}

void OperatorChecks::finish_check(const ChildOutcome& received) {
  auto outcome = outcome_of(received, limits_.time_ms);
  const auto backtrace =
      backtrace_.empty() ? std::string() : "; backtrace: " + std::exchange(backtrace_, {});
  if (is_fault(outcome.verdict)) child_.reset();
  const bool died = !received.line && !received.timed_out,
             of_unknown_inputs = !query_.empty() && !has_crashed_;
  has_crashed_ = has_crashed_ || died;
  if (died && (!first_of_child_ || of_unknown_inputs)) {
    earlier_crash_ =
        outcome.sentence + (first_of_child_ ? ", but not when it was checked again"
                                            : " after earlier checks, but not without them: "
                                              "one of them may have corrupted memory");
    earlier_crash_ += backtrace;
    clear_calls();
    return;
  }
  if (outcome.verdict == Verdict::crashed) outcome.sentence += backtrace;
  if (outcome.ends_checks)
    skip_reason_ = fmt::format(
        "the check '{}' {}", checks_[next_].name,
        received.timed_out ? outcome.sentence : "found a fault that makes other checks impossible");
  if (is_fault(outcome.verdict) && !call_.empty() &&
      outcome.sentence.find(", with ") == std::string::npos)
    outcome.sentence += ", with " + call_;
  if (outcome.verdict == Verdict::crashed && !query_.empty())
    outcome.sentence += ", while searching for calls, with " + query_;
  if (!earlier_crash_.empty() && !is_fault(outcome.verdict))
    outcome = {Verdict::crashed, earlier_crash_};
  earlier_crash_.clear();
  report(std::move(outcome));
}

void OperatorChecks::report(Outcome outcome) {
  outcome.calls = std::move(calls_);
  clear_calls();
  first_of_child_ = false;
  deadline_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(limits_.time_ms);
  report_(checks_[next_++], std::move(outcome));
}

void OperatorChecks::clear_calls() {
  calls_.clear();
  call_.clear();
  query_.clear();
}

}  // namespace tenon::checks

// The parent process's side of an operator's checks.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "check/check.hpp"
#include "io/child.hpp"

namespace tenon::checks {

/// Runs the checks one after another in a child process and reports each as soon as it ends. The
/// child first loads the operator by `load`. After a fault the remaining checks run in a new child.
/// A check during which the child died is repeated first in a new child, so that it is not affected
/// by earlier checks and, if infer() crashed, reports the inputs. After a timeout the remaining
/// checks are skipped. Use only while this process has no threads.
class OperatorChecks {
 public:
  OperatorChecks(std::span<const Check> checks, std::function<CheckedOperator()> load,
                 const CheckLimits& limits, std::function<void(const Check&, Outcome)> report)
      : checks_(checks), load_(std::move(load)), limits_(limits), report_(std::move(report)) {}

  bool done() const { return next_ == checks_.size(); }
  /// Waits up to `wait_ms` for a line from the child; returns whether one was handled.
  bool step(int wait_ms);

 private:
  void start();
  void finish_check(const ChildOutcome& received);
  void report(Outcome outcome);
  void clear_calls();

  std::span<const Check> checks_;
  std::function<CheckedOperator()> load_;
  CheckLimits limits_;
  std::function<void(const Check&, Outcome)> report_;

  std::size_t next_ = 0;
  std::optional<Child> child_;
  std::chrono::steady_clock::time_point deadline_;
  bool first_of_child_ = true;
  std::vector<std::string> calls_;  // of the current check
  std::string call_, query_;        // the last call or query that was reported
  std::string backtrace_;           // backtrace reported by a crashing child
  // how an earlier child died at this check, after other checks or during an unknown query
  std::string earlier_crash_;
  bool has_crashed_ = false;  // whether any child has died; later children report more
  std::string skip_reason_;   // why the remaining checks are skipped
};

}  // namespace tenon::checks

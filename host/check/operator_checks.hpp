// The watching side of an operator's checks.
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

/// Runs the checks in a child, one after another, and reports each as soon as it has ended. The child loads the operator first, by `load`.
/// After a fault the rest runs in a new child. A check at which the child died runs again as the first of a new one, so that it answers for
/// nothing but itself, and so that one that dies of what infer() is asked tells that. After one that did not end in time the rest is
/// skipped. Use while this process has no threads.
class OperatorChecks {
 public:
  OperatorChecks(std::span<const Check> checks, std::function<CheckedOperator()> load, const CheckLimits& limits,
                 std::function<void(const Check&, Outcome)> report)
      : checks_(checks), load_(std::move(load)), limits_(limits), report_(std::move(report)) {}

  bool done() const { return next_ == checks_.size(); }
  /// Waits for up to `wait_ms` for what the child says next; whether it has said something.
  bool step(int wait_ms);

 private:
  void start();
  void settle(const ChildOutcome& said);
  void report(Outcome outcome);
  void forget_calls();

  std::span<const Check> checks_;
  std::function<CheckedOperator()> load_;
  CheckLimits limits_;
  std::function<void(const Check&, Outcome)> report_;

  std::size_t next_ = 0;
  std::optional<Child> child_;
  std::chrono::steady_clock::time_point deadline_;
  bool first_of_child_ = true;
  std::vector<std::string> calls_;  // of the check that runs
  std::string call_, question_;     // the one of them that was told last
  std::string crash_place_;         // of the child that is about to die
  std::string death_;               // at this check, of a child that had run others before it or was asked something unknown
  bool has_died_ = false;           // some child; those that follow tell more
  std::string rest_;                // why all others are skipped
};

}  // namespace tenon::checks

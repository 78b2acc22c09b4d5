// Undoes the changes of a run that fails.
#pragma once
#include <cstdint>
#include <vector>

#include "run/session/planner.hpp"
#include "run/session/state_backup.hpp"

namespace tenon {

/// Makes a run, or several runs together, atomic: unless commit() is called, the destructor
/// restores states, variables, accumulating destinations and the step count, and drops the values
/// that were initialized. Threads: one at a time.
class RunTransaction {
 public:
  /// `step`: the session's step count. `parent`: of runs that succeed or fail together; may be
  /// null. The arguments outlive the transaction.
  RunTransaction(Planner& planner, StateBackup& backup, std::uint64_t& step,
                 RunTransaction* parent = nullptr)
      : planner_(planner), backup_(backup), step_(step), parent_(parent), first_step_(step) {}
  ~RunTransaction() {
    if (committed_) return;
    roll_back();
    step_ = first_step_;
  }
  RunTransaction(const RunTransaction&) = delete;
  RunTransaction& operator=(const RunTransaction&) = delete;

  /// To be called before a step writes the value's tensor; saves it for the parent, too.
  void save(ValueId value, const Tensor& changed);
  /// Saves what a run of this plan changes, unless nothing can fail after its first change.
  /// `fails_late`: what follows the plan's steps may fail.
  void save_changes(const Planned& planned, bool fails_late);
  /// Saves destinations that a run of this plan accumulates into.
  void save_sums(const Plan& plan, const Destinations& destinations);
  /// Undoes all changes so far, except for the step count.
  void roll_back();
  /// Keeps the changes; a parent can still undo them.
  void commit() {
    if (parent_ != nullptr && !initialized.empty()) add_to_parent();
    backup_.discard();
    committed_ = true;
  }

  std::vector<ValueId> initialized;  ///< variables and states that got their first values

 private:
  void add_to_parent();

  Planner& planner_;
  StateBackup& backup_;
  std::uint64_t& step_;
  RunTransaction* const parent_;
  const std::uint64_t first_step_;
  bool committed_ = false;
};

}  // namespace tenon

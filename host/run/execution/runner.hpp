// How the steps of a plan are called: one after the other, or in lanes, as its first runs show.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "plan/lanes/in_lanes.hpp"
#include "run/execution/parallel_run.hpp"

namespace tenon {

/// Of one execution. A plan without lanes: after a run in which kernels set themselves up, two runs are measured; if its steps may run at
/// once and that would pay, next() gives the plan in lanes. That plan's first runs take turns with runs of one step after the other: where
/// they are not shorter, next() gives the first plan back. Threads: one at a time.
class Runner {
 public:
  /// Null where the steps run one after the other in any case. `pause`: runs before the first one that counts.
  static std::unique_ptr<Runner> of(Execution& execution, const Kernels& kernels, Threads& threads, LanePolicy policy, int pause);

  Runner(Execution& execution, const Kernels& kernels, Threads& threads, LanePolicy policy, int pause);

  /// The steps of one run. Throws a step's Failure.
  void run(const std::stop_token& stop);
  /// Nothing is left to find out, and steps run one after the other.
  bool over() const { return over_; }
  /// What later runs are to use; null: this plan.
  const std::shared_ptr<const Plan>& next() const { return next_; }
  /// Where there is no memory for next().
  void stay() { next_ = nullptr, over_ = !lanes_; }

 private:
  using Clock = std::chrono::steady_clock;
  void measure(const std::stop_token& stop);
  void look(const std::stop_token& stop);
  void run_in_lanes(const std::stop_token& stop);
  bool has_width();
  void choose();

  Execution& execution_;
  const Kernels& kernels_;
  Threads& threads_;
  const LanePolicy policy_;
  int pause_;
  int runs_ = 0;
  bool over_ = false;
  std::int64_t shortest_ = INT64_MAX, shortest_alone_ = INT64_MAX;  // of the runs tried, in nanoseconds
  std::optional<StepOrder> order_;
  std::vector<StepTime> costs_;
  std::optional<ParallelRun> lanes_;
  std::shared_ptr<const Plan> next_;
};

/// Steps one after the other.
void run_steps(Execution& execution, const std::stop_token& stop);

}  // namespace tenon

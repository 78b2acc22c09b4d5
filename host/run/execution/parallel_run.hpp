// Runs the steps of a plan in lanes, on several threads.
#pragma once
#include <atomic>
#include <stop_token>

#include "device/threads.hpp"
#include "run/execution/execution.hpp"
#include "run/execution/overlaps.hpp"

namespace tenon {

/// Of an execution whose plan is in lanes. Threads: one at a time.
class ParallelRun {
 public:
  explicit ParallelRun(Execution& execution);

  /// Calls all steps. False: nothing has run, since others keep the threads busy, or this run's outputs overlap what it reads. Throws what
  /// the steps one after the other would have thrown: the Failure of the first step, by the order of the plan, that fails. Steps before it
  /// have run then, and of those behind it some may have. `stop`: as of Session::run.
  bool run(Threads& threads, const std::stop_token& stop);

 private:
  static void run_task(void* self, std::uint32_t task);
  void run_task(std::uint32_t task);
  void stop_before(std::uint32_t step);
  bool outputs_apart();

  Execution& execution_;
  const Plan& plan_;
  Tasks tasks_;
  Overlaps overlaps_;
  const std::stop_token* stop_ = nullptr;
  std::atomic<std::uint32_t> end_ = 0;     // no step from this one on begins
  std::atomic<std::uint32_t> failed_ = 0;  // the first step that did
};

/// Throws a Failure where it is requested.
void stop_where_asked(const std::stop_token& stop);

}  // namespace tenon

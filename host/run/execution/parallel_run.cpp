#include "run/execution/parallel_run.hpp"

#include <algorithm>

#include "io/crash/crash_handler.hpp"
#include "run/execution/step_walk.hpp"

namespace tenon {

void stop_where_asked(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Failure(FailureKind::failed, "the run was stopped", "it has changed no state and no variable");
}

ParallelRun::ParallelRun(Execution& execution)
    : execution_(execution), plan_(execution.plan()), tasks_(plan_.lanes.after), overlaps_(execution) {}

bool ParallelRun::run(Threads& threads, const std::stop_token& stop) {
  if (!outputs_apart()) return false;
  const auto count = static_cast<std::uint32_t>(plan_.step_count());
  stop_ = stop.stop_possible() ? &stop : nullptr;
  end_ = failed_ = count;
  if (!threads.run(tasks_, run_task, this)) return false;
  if (failed_ < count) throw execution_.failure_of(execution_.steps()[failed_]);
  if (end_ < count) stop_where_asked(stop);
  return true;
}

void ParallelRun::run_task(void* self, std::uint32_t task) {
  static_cast<ParallelRun*>(self)->run_task(task);
}

void ParallelRun::run_task(std::uint32_t task) {
  const auto& lanes = plan_.lanes;
  StepWalk walk(execution_);
  for (auto i = lanes.first[task]; i < lanes.first[task + 1]; ++i) {
    const auto step = lanes.steps[i];
    if (stop_ != nullptr && stop_->stop_requested()) stop_before(0);
    if (step >= end_.load(std::memory_order_relaxed)) break;
    if (walk.passes(execution_.steps()[step])) continue;
    stop_before(step);
    auto first = failed_.load();
    while (step < first && !failed_.compare_exchange_weak(first, step)) {
    }
    break;
  }
  end_copied_process();  // of a kernel that copied it: nobody else is there to end it
}

void ParallelRun::stop_before(std::uint32_t step) {
  auto end = end_.load();
  while (step < end && !end_.compare_exchange_weak(end, step)) {
  }
}

bool ParallelRun::outputs_apart() {
  const auto& model = plan_.model();
  overlaps_.begin();
  for (const auto value : model.inputs) overlaps_.add(value, false);
  std::vector<ValueId> outputs;
  for (const auto& [name, value] : model.outputs)
    if (model.values[value].role == Role::output) outputs.push_back(plan_.memory.root[value]);
  std::sort(outputs.begin(), outputs.end());
  outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  for (const auto value : outputs) overlaps_.add(value, true);
  return !overlaps_.any();
}

}  // namespace tenon

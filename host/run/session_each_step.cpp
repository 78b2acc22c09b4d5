// Runs of a session that look at each step: traced, profiled and debugged ones.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "plan/step_cost.hpp"
#include "run/execution/filled_outputs.hpp"
#include "run/execution/step_failure.hpp"
#include "run/execution/step_walk.hpp"
#include "run/session_impl.hpp"

namespace tenon {

static void add_call(NodeTime& time, double begin, double seconds, const StepCost& cost) {
  time.least = time.calls == 0 ? seconds : std::min(time.least, seconds);
  ++time.calls, time.seconds += seconds;
  time.bytes += cost.bytes, time.flops += cost.flops;
  time.begin = begin, time.last = seconds;
}

// Each step is waited for, so that its time is its own.
void Session::Impl::execute_watched(Execution& execution, const std::stop_token& stop) {
  const auto& plan = execution.plan();
  const bool traces = !options.trace.empty();
  const auto costs = options.profile ? step_costs(plan, *kernels) : std::vector<StepCost>();
  if (traces) trace.begin_run();
  execution.start_steps();
  StepWalk walk(execution);
  const auto run_begin = Trace::Clock::now();
  for (std::size_t i = 0; i < plan.step_count(); ++i) {
    stop_where_asked(stop);
    const auto begin = Trace::Clock::now();
    walk.call(execution.steps()[i]);
    execution.wait_for(i);
    const auto end = Trace::Clock::now();
    const std::string name(plan.model().strings[plan.node(i).name]);
    const auto work = work_label(plan.model(), plan.node(i));
    const auto* stream = plan.stream_of(i);
    if (traces) trace.add(name, work, stream == nullptr ? PlannedStream{&plan.device_of(i), StreamRole::kernels} : *stream, begin, end);
    if (options.profile) {
      auto& time = times.try_emplace({name, work}, NodeTime{name, work, plan.device_of(i).name()}).first->second;
      add_call(time, std::chrono::duration<double>(begin - run_begin).count(), std::chrono::duration<double>(end - begin).count(),
               costs[i]);
    }
  }
  try {
    if (traces) trace.end_run();
  } catch (const Failure& failure) {  // the results are worth more
    trace_complete = false;
    host().warnings.once("trace", fmt::format("{}; the trace lacks runs", failure.what()));
  }
}

// What a GPU's kernels write is not looked at.
void Session::Impl::execute_debug(Execution& execution, const std::stop_token& stop) {
  const auto& plan = execution.plan();
  execution.start_steps();
  StepWalk walk(execution);
  for (std::size_t i = 0; i < plan.step_count(); ++i) {
    const auto& step = execution.steps()[i];
    const bool looks = plan.copy_of(i) == none && plan.device_of(i).is_cpu();
    stop_where_asked(stop);
    if (looks) {
      forget_allocated(plan, i, *step.call);
      fill_outputs(*step.call);
    }
    walk.call(step);
    if (const auto hole = looks ? find_unwritten(*step.call) : std::nullopt)
      throw failure_at(plan, i,
                       fmt::format("its kernel does not write element {} of '{}'", hole->element,
                                   value_label(plan.model(), plan.node(i).first_output + hole->output)),
                       "elements count from 0; tenon check says more about the operator");
  }
}

}  // namespace tenon

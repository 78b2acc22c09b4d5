#include "run/session/step_observer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "run/execution/filled_outputs.hpp"
#include "run/execution/step_failure.hpp"
#include "run/execution/step_walk.hpp"

namespace tenon {
namespace {

void add_call(NodeTime& time, double begin, double seconds, const StepCost& cost) {
  time.least = time.calls == 0 ? seconds : std::min(time.least, seconds);
  ++time.calls, time.seconds += seconds;
  time.bytes += cost.bytes, time.flops += cost.flops;
  time.begin = begin, time.last = seconds;
}

double seconds_of(Trace::Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// Calls visit(value) for each state that a step may change and each value that it computes.
template <class Visit>
void for_each_write(const Plan& plan, std::size_t step, const Visit& visit) {
  const auto& node = plan.node(step);
  const auto& forward = forward_of(plan.model(), node);
  for (std::uint32_t i = 0; i < forward.state_count; ++i)
    visit(plan.model().edges[forward.first_edge + forward.input_count + i]);
  for (std::uint32_t i = 0; i < node.output_count; ++i)
    if (plan.write(step, i) != TENON_WRITE_NONE) visit(node.first_output + i);
}

}  // namespace

void run_observed(Execution& execution, std::span<StepObserver* const> observers,
                  const std::stop_token& stop) {
  execution.start_steps();
  StepWalk walk(execution);
  for (std::size_t i = 0; i < execution.steps().size(); ++i) {
    throw_if_stop_requested(stop);
    for (auto* observer : observers) observer->before(i);
    walk.call(execution.steps()[i]);
    execution.wait_for(i);
    for (auto* observer : observers)
      if (!observer->after(i)) return;
  }
}

StepTimer::StepTimer(const Execution& execution, const Kernels& kernels, Trace* trace,
                     NodeTimes* times, std::optional<Trace::Clock::time_point>& run_begin)
    : plan_(execution.plan()),
      trace_(trace),
      times_(times),
      costs_(times == nullptr ? std::vector<StepCost>() : step_costs(plan_, kernels)) {
  if (trace_ != nullptr) trace_->begin_run();
  if (!run_begin) run_begin = Trace::Clock::now();
  run_begin_ = *run_begin;
}

void StepTimer::before(std::size_t) {
  begin_ = Trace::Clock::now();
}

bool StepTimer::after(std::size_t step) {
  const auto end = Trace::Clock::now();
  const std::string name(plan_.model().strings[plan_.node(step).name]);
  const auto work = work_label(plan_.model(), plan_.node(step));
  const auto* stream = plan_.stream_of(step);
  if (trace_ != nullptr)
    trace_->add(
        name, work,
        stream == nullptr ? PlannedStream{&plan_.device_of(step), StreamRole::kernels} : *stream,
        begin_, end);
  if (times_ != nullptr) {
    auto& time =
        times_->try_emplace({name, work}, NodeTime{name, work, plan_.device_of(step).name()})
            .first->second;
    add_call(time, seconds_of(begin_ - run_begin_), seconds_of(end - begin_), costs_[step]);
  }
  return true;
}

void UnwrittenElements::before(std::size_t step) {
  if (!checks(step)) return;
  auto& call = *execution_.steps()[step].call;
  detach_allocated(plan_, step, call);
  fill_outputs(call);
}

bool UnwrittenElements::after(std::size_t step) {
  if (!checks(step)) return true;
  if (const auto hole = find_unwritten(*execution_.steps()[step].call))
    throw failure_at(
        plan_, step,
        fmt::format("its kernel does not write element {} of '{}'", hole->element,
                    value_label(plan_.model(), plan_.node(step).first_output + hole->output)),
        "elements count from 0; tenon check diagnoses the operator");
  return true;
}

OutputNotifier::OutputNotifier(const Execution& execution, const Destinations& destinations,
                               const NamedTensors& outputs,
                               const std::function<void(const std::string&)>& on_output_ready)
    : on_output_ready_(on_output_ready), completed_(execution.plan().step_count()) {
  const auto& plan = execution.plan();
  const auto& model = plan.model();
  std::unordered_map<ValueId, std::size_t> last_writes;
  for (std::size_t step = 0; step < plan.step_count(); ++step)
    for_each_write(plan, step, [&](ValueId value) { last_writes[plan.memory.root[value]] = step; });
  for (const auto& [name, value] : model.outputs) {
    const std::string output(model.strings[name]);
    const auto destination = destinations.find(output);
    if (destination == destinations.end() ||
        outputs.at(output).data() != destination->second.tensor.data())
      continue;
    const auto last = last_writes.find(plan.memory.root[value]);
    if (last != last_writes.end()) completed_[last->second].push_back(output);
  }
}

bool OutputNotifier::after(std::size_t step) {
  for (const auto& name : completed_[step]) on_output_ready_(name);
  return true;
}

}  // namespace tenon

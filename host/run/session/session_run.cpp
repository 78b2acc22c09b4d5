#include "run/session/session_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "io/crash/crash_handler.hpp"
#include "run/execution/overlaps.hpp"
#include "run/execution/step_walk.hpp"
#include "run/session/run_outputs.hpp"
#include "run/session/session_impl.hpp"
#include "run/session/session_warnings.hpp"
#include "run/session/watched_stop.hpp"

namespace tenon {
namespace {

void check_names(const Stage& stage, const Destinations& destinations) {
  const auto& outputs = stage.subgraph ? stage.subgraph->outputs : stage.model().outputs;
  for (const auto& [name, destination] : destinations)
    if (std::none_of(outputs.begin(), outputs.end(), [&, &output_name = name](const auto& output) {
          return stage.model().strings[output.first] == output_name;
        }))
      throw Failure(
          FailureKind::usage,
          fmt::format("the destination of output '{}' is not used: the graph has no such output",
                      name));
}

Destinations destinations_in(const GraphModel& model, const Destinations& all) {
  Destinations found;
  for (const auto& [name, value] : model.outputs)
    if (const auto entry = all.find(std::string(model.strings[name])); entry != all.end())
      found.insert(*entry);
  return found;
}

// In a fused group, each block is written before the next one is read.
bool any_overlap(const Planned& planned, const Destinations& destinations) {
  if (destinations.empty() || planned.plan->graph.groups.empty()) return false;
  Overlaps overlaps(*planned.execution);
  for (const auto input : planned.plan->model().inputs) overlaps.add(input, false);
  for (const auto& [name, destination] : destinations)
    if (destination.tensor) overlaps.add(destination.tensor, true);
  return overlaps.any();
}

void end_trace(Session::Impl& session) {
  try {
    if (!session.options.trace.empty()) session.trace.end_run();
  } catch (const Failure& failure) {  // results take precedence over the trace
    session.trace_complete = false;
    session.host().warnings.once("trace",
                                 fmt::format("{}; the trace is missing runs", failure.what()));
  }
}

}  // namespace

SessionRun::SessionRun(Session::Impl& session, const NamedTensors& inputs,
                       const RunOptions& request, RunTransaction* parent)
    : session_(session),
      inputs_(inputs),
      request_(request),
      first_(session.planner.first_stage(request.outputs)),
      transaction_(session.planner, session.backup, session.step, parent) {
  ++session.step;
}

NamedTensors SessionRun::outputs() {
  auto outputs = run_stages();
  transaction_.commit();
  return outputs;
}

// Not committed, so it changes nothing.
std::string SessionRun::first_non_finite() {
  searches_ = true;
  session_.step =
      std::max<std::uint64_t>(1, session_.step - 1);  // reuses the random numbers of the last run
  run_stages();
  return non_finite_;
}

NamedTensors SessionRun::run_stages() {
  try {
    return run_stages(first_);
  } catch (const CannotResume& refused) {
    return run_stages(restart(refused));
  }
}

// Most graphs have one stage. Values for later stages are among a stage's outputs.
NamedTensors SessionRun::run_stages(RunStage next) {
  throw_if_stop_requested(request_.stop);
  check_names(*next.stage, request_.destinations);
  stages_ = 0;
  steps_begin_.reset();
  finished_.clear();
  NamedTensors arguments, outputs;
  for (bool first = true;; first = false) {
    std::vector<Tensor> input_copies;
    auto& planned = prepare(next, first ? inputs_ : arguments, input_copies);
    const auto later = planned.later;
    if (first && !later) return run_stage(planned, inputs_, request_.destinations, false);
    if (first) arguments = inputs_;
    const auto destinations = destinations_in(planned.plan->model(), request_.destinations);
    for (auto& [name, tensor] : run_stage(planned, arguments, destinations, later != nullptr)) {
      if (name.starts_with(for_later))
        arguments.insert_or_assign(name.substr(1), tensor);
      else
        outputs.emplace(name, tensor);
    }
    // after a value that is not finite, later stages would depend on values that were not computed
    if (!later || !non_finite_.empty()) return outputs;
    next.stage = later;
  }
}

RunStage SessionRun::restart(const CannotResume& refused) {
  transaction_.roll_back();
  auto inputs = stage_inputs(session_.graphs, first_, inputs_);
  inputs.fused = !searches_;
  auto original = session_.planner.fall_back(first_, inputs);
  if (!refused.node.empty())
    throw Failure(FailureKind::failed,
                  fmt::format("the optimized graph does not accept the sizes that this run "
                              "computed, and {} must not run twice",
                              refused.node),
                  "run again: runs with inputs of these types begin with the original graph now");
  return original;
}

Planned& SessionRun::prepare(RunStage& next, const NamedTensors& inputs,
                             std::vector<Tensor>& input_copies) {
  auto& planned = bind_inputs(next, inputs, !searches_, input_copies);
  overlaps_ = any_overlap(planned, request_.destinations);
  return overlaps_ ? bind_inputs(next, inputs, false, input_copies) : planned;
}

Planned& SessionRun::bind_inputs(RunStage& next, const NamedTensors& inputs, bool fused,
                                 std::vector<Tensor>& input_copies) {
  std::map<ValueId, tenon_type> types;
  const auto inputs_of = [&](const RunStage& stage) {
    auto found = stage_inputs(session_.graphs, stage, inputs);
    found.fused = fused;
    found.destinations = &request_.destinations;
    input_copies = found.copies;
    types = found.types;
    return found;
  };
  auto& planned = session_.planner.plan(next, inputs_of, transaction_.initialized);
  auto& execution = session_.planner.execution_of(planned, request_.destinations);
  const auto random_variables = std::exchange(session_.graphs.random_variables, {});
  if (!session_.options.training)
    warn_of_random_values(session_.host().warnings, session_.model(), random_variables,
                          session_.options.seed);
  for (const auto& [value, tensor] : planned.evaluated) execution.set_tensor(value, tensor.abi());
  auto input = input_copies.begin();
  for (const auto& [value, type] : types) execution.set_tensor(value, (input++)->abi());
  return planned;
}

NamedTensors SessionRun::run_stage(Planned& planned, const NamedTensors& inputs,
                                   const Destinations& destinations, bool more) {
  ++stages_;
  if (searches_) return search_stage(planned, inputs);
  if (!more)
    for (const auto& name : std::exchange(finished_, {})) output_callback(request_)(name);
  auto& execution = *planned.execution;
  const auto& options = session_.options;
  if (session_.restores_sums) transaction_.save_sums(*planned.plan, destinations);
  auto outputs = bind_outputs(planned, inputs, destinations, options.keep_on_device);
  execution.set_step(session_.step - 1);
  BackingFiles input_files;
  for (const auto& [name, tensor] : inputs) input_files.add(tensor);
  const WatchedStop watched(execution, request_.stop);
  try {
    transaction_.save_changes(planned, more || options.debug || output_callback(request_) ||
                                           !input_files.empty() || !session_.files.empty() ||
                                           request_.stop.stop_possible());
    call_steps(planned, destinations, outputs, more);
    end_copied_process();
    execution.finish();
    warn_of_capture(session_.host().warnings, execution);
  } catch (...) {
    execution.abandon();
    require_unchanged_files(
        inputs);  // report a changed file first, because it may cause the kernel's error
    throw;
  }
  require_unchanged_files(inputs);
  take_sparse_outputs(execution, options.keep_on_device, outputs);
  deliver(destinations, outputs);
  return outputs;
}

// Finished outputs are reported only once all stages have plans, because the run may restart until
// then.
void SessionRun::call_steps(Planned& planned, const Destinations& destinations,
                            const NamedTensors& outputs, bool more) {
  auto& execution = *planned.execution;
  const auto& options = session_.options;
  std::optional<UnwrittenElements> unwritten;
  std::optional<StepTimer> timer;
  std::optional<OutputNotifier> notifier;
  std::vector<StepObserver*> observers;
  if (options.debug) observers.push_back(&unwritten.emplace(execution));
  if (options.profile || !options.trace.empty())
    observers.push_back(&timer.emplace(execution, planned.graph->kernels,
                                       options.trace.empty() ? nullptr : &session_.trace,
                                       options.profile ? &session_.times : nullptr, steps_begin_));
  const std::function<void(const std::string&)> finish_later = [this](const std::string& name) {
    finished_.push_back(name);
  };
  if (const auto& callback = output_callback(request_); callback && execution.gpu() == nullptr)
    observers.push_back(
        &notifier.emplace(execution, destinations, outputs, more ? finish_later : callback));
  if (observers.empty()) return execution.run_steps(request_.stop);
  run_observed(execution, observers, request_.stop);
  if (timer) end_trace(session_);
}

NamedTensors SessionRun::search_stage(Planned& planned, const NamedTensors& inputs) {
  auto& execution = *planned.execution;
  const bool keep_on_device = session_.options.keep_on_device;
  auto outputs = bind_outputs(planned, inputs, {}, keep_on_device);
  execution.set_step(session_.step - 1);
  transaction_.save_changes(planned, true);
  try {
    NonFiniteValues observer(execution);
    StepObserver* const observers[] = {&observer};
    if (observer.found().empty()) run_observed(execution, observers, {});
    non_finite_ = observer.found();
  } catch (...) {
    execution.abandon();
    throw;
  }
  execution.abandon();
  if (non_finite_.empty()) take_sparse_outputs(execution, keep_on_device, outputs);
  return outputs;
}

void SessionRun::require_unchanged_files(const NamedTensors& inputs) const {
  session_.files.require_unchanged();
  BackingFiles input_files;
  for (const auto& [name, tensor] : inputs) input_files.add(tensor);
  input_files.require_unchanged();
}

}  // namespace tenon

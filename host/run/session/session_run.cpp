// A session's runs: by names, in order, repeated, and with an observer of each step.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/crash/crash_handler.hpp"
#include "io/file_memory.hpp"
#include "run/execution/overlaps.hpp"
#include "run/execution/step_walk.hpp"
#include "run/session/renamed_run.hpp"
#include "run/session/run_outputs.hpp"
#include "run/session/session_impl.hpp"
#include "run/session/session_warnings.hpp"
#include "run/session/watched_stop.hpp"

namespace tenon {
namespace {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
const std::function<void(const std::string&)>& output_callback(const RunOptions& request) {
  return request.on_output_ready ? request.on_output_ready : request.finished;
}
#pragma GCC diagnostic pop

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

}  // namespace

Planned& Session::Impl::prepare(RunStage& next, const NamedTensors& inputs,
                                const Destinations& destinations,
                                std::vector<Tensor>& input_copies) {
  std::map<ValueId, tenon_type> types;
  auto& planned = planner.plan(
      next,
      [&](const RunStage& stage) {
        auto request = stage_inputs(stage, inputs);
        request.fused = !step_by_step;
        request.destinations = &destinations;
        input_copies = request.copies;
        types = request.types;
        return request;
      },
      initialized);
  auto& execution = planner.execution_of(planned, destinations);
  const auto random_variables = std::exchange(graphs.random_variables, {});
  if (!options.training)
    warn_of_random_values(host().warnings, model(), random_variables, options.seed);
  for (const auto& [value, tensor] : planned.evaluated) execution.set_tensor(value, tensor.abi());
  auto input = input_copies.begin();
  for (const auto& [value, type] : types) execution.set_tensor(value, (input++)->abi());
  return planned;
}

// In a fused group, each block is written before the next one is read.
Planned& Session::Impl::prepare_for_overlaps(RunStage& next, const NamedTensors& inputs,
                                             const Destinations& destinations,
                                             std::vector<Tensor>& input_copies) {
  auto& planned = prepare(next, inputs, destinations, input_copies);
  overlapped = false;
  if (destinations.empty() || planned.plan->graph.groups.empty()) return planned;
  Overlaps overlaps(*planned.execution);
  for (const auto input : planned.plan->model().inputs) overlaps.add(input, false);
  for (const auto& [name, destination] : destinations)
    if (destination.tensor) overlaps.add(destination.tensor, true);
  if (!overlaps.any()) return planned;
  const StepByStep each_node(*this);
  overlapped = true;
  return prepare(next, inputs, destinations, input_copies);
}

// Most graphs have one stage. Values for later stages are among a stage's outputs.
NamedTensors Session::Impl::each_stage(RunStage next, const NamedTensors& inputs,
                                       const RunOptions& request, const Visit& visit) {
  NamedTensors arguments, outputs;
  throw_if_stop_requested(request.stop);
  check_names(*next.stage, request.destinations);
  for (bool first = true;; first = false) {
    std::vector<Tensor> input_copies;
    auto& planned =
        prepare_for_overlaps(next, first ? inputs : arguments, request.destinations, input_copies);
    const auto later = planned.later;
    if (first && !later) return visit(planned, inputs, request.destinations, false);
    if (first) arguments = inputs;
    const auto destinations = destinations_in(planned.plan->model(), request.destinations);
    for (auto& [name, tensor] : visit(planned, arguments, destinations, later != nullptr)) {
      if (name.starts_with(for_later))
        arguments.insert_or_assign(name.substr(1), tensor);
      else
        outputs.emplace(name, tensor);
    }
    if (!later) return outputs;
    next.stage = later;
  }
}

void Session::Impl::require_unchanged_files(const NamedTensors& inputs) const {
  files.require_unchanged();
  BackingFiles input_files;
  for (const auto& [name, tensor] : inputs) input_files.add(tensor);
  input_files.require_unchanged();
}

void Session::Impl::back_up(const Tensor& changed) {
  if (!changed) return;
  backup.save(changed);
  if (batches != nullptr) batches->save(changed);
}

void Session::Impl::back_up(Planned& planned, bool fails_late, const std::stop_token& stop) {
  const auto& execution = *planned.execution;
  if (execution.changes().empty()) [[likely]]
    return;
  if (fails_late || batches != nullptr || !files.empty() || stop.stop_possible() ||
      !execution.changes_last())
    for (const auto value : execution.changes()) back_up(planned.graph->tensors[value]);
}

void Session::Impl::back_up_sums(const Plan& plan, const Destinations& destinations) {
  if (!restores_sums) return;
  const auto& model = plan.model();
  for (const auto& [name, value] : model.outputs)
    if (const auto requested = destinations.find(std::string(model.strings[name]));
        requested != destinations.end() && requested->second.write == Write::add)
      backup.save_destination(requested->second.tensor);
}

void Session::Impl::call_steps(Planned& planned, const Destinations& destinations,
                               const NamedTensors& outputs, const RunOptions& request) {
  auto& execution = *planned.execution;
  std::optional<UnwrittenElements> unwritten;
  std::optional<StepTimer> timer;
  std::optional<OutputNotifier> notifier;
  std::vector<StepObserver*> observers;
  if (options.debug) observers.push_back(&unwritten.emplace(execution));
  if (options.profile || !options.trace.empty())
    observers.push_back(&timer.emplace(execution, planned.graph->kernels,
                                       options.trace.empty() ? nullptr : &trace,
                                       options.profile ? &times : nullptr));
  if (const auto& callback = output_callback(request); callback && execution.gpu() == nullptr)
    observers.push_back(&notifier.emplace(execution, destinations, outputs, callback));
  if (observers.empty()) return execution.run_steps(request.stop);
  run_observed(execution, observers, request.stop);
  if (timer) end_trace();
}

void Session::Impl::end_trace() {
  try {
    if (!options.trace.empty()) trace.end_run();
  } catch (const Failure& failure) {  // results take precedence over the trace
    trace_complete = false;
    host().warnings.once("trace", fmt::format("{}; the trace is missing runs", failure.what()));
  }
}

NamedTensors Session::Impl::run(Planned& planned, const NamedTensors& inputs,
                                const Destinations& destinations, const RunOptions& request,
                                bool more) {
  auto& execution = *planned.execution;
  back_up_sums(*planned.plan, destinations);
  auto outputs = bind_outputs(planned, inputs, destinations, options.keep_on_device);
  execution.set_step(step - 1);
  BackingFiles input_files;
  for (const auto& [name, tensor] : inputs) input_files.add(tensor);
  const WatchedStop watched(execution, request.stop);
  try {
    back_up(planned, more || options.debug || !input_files.empty(), request.stop);
    call_steps(planned, destinations, outputs, request);
    end_copied_process();
    execution.finish();
    warn_of_capture(host().warnings, execution);
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

/// Makes a run atomic: unless commit() is called, states, variables, accumulating destinations and
/// the step count are rolled back.
class Session::Impl::RunTransaction {
 public:
  explicit RunTransaction(Impl& session) : session_(session), step_(session.step++) {}
  ~RunTransaction() {
    if (committed_) return;
    session_.roll_back();
    session_.step = step_;
  }
  RunTransaction(const RunTransaction&) = delete;
  RunTransaction& operator=(const RunTransaction&) = delete;
  void commit() {
    session_.backup.discard();
    if (session_.batches == nullptr) session_.initialized.clear();
    committed_ = true;
  }

 private:
  Impl& session_;
  const std::uint64_t step_;
  bool committed_ = false;
};

void Session::Impl::roll_back() {
  backup.restore();
  if (initialized.empty()) return;
  planner.drop_values(initialized);
  initialized.clear();
}

NamedTensors Session::Impl::run(const NamedTensors& inputs, const RunOptions& request) {
  const bool plain =
      request.outputs.empty() && request.destinations.empty() && !output_callback(request);
  if (plain)
    if (auto made = repeat(inputs, request.stop)) return *std::move(made);
  if (const auto renamed = RenamedRun::of(model(), inputs, request)) {
    auto made = run(renamed->inputs, renamed->request);
    renamed->name(made);
    return made;
  }
  int stages = 0;
  const auto first = planner.first_stage(request.outputs);
  auto made = run(first, inputs, request, stages);
  if (plain) cache_quick_run(first, stages);
  return made;
}

NamedTensors Session::Impl::run(const RunStage& first, const NamedTensors& inputs,
                                const RunOptions& request, int& stages) {
  RunTransaction whole(*this);
  NamedTensors made;
  try {
    made = run_stages(first, inputs, request, stages);
  } catch (const CannotResume& refused) {
    made = run_stages(restart(first, inputs, refused), inputs, request, stages);
  }
  whole.commit();
  return made;
}

RunStage Session::Impl::restart(const RunStage& first, const NamedTensors& inputs,
                                const CannotResume& refused) {
  roll_back();
  auto request = stage_inputs(first, inputs);
  request.fused = !step_by_step;
  auto original = planner.fall_back(first, request);
  if (!refused.node.empty())
    throw Failure(FailureKind::failed,
                  fmt::format("the optimized graph does not accept the sizes that this run "
                              "computed, and {} must not run twice",
                              refused.node),
                  "run again: runs with inputs of these types begin with the original graph now");
  return original;
}

// Finished outputs are reported only once all stages have plans, because the run may restart until
// then.
NamedTensors Session::Impl::run_stages(const RunStage& first, const NamedTensors& inputs,
                                       const RunOptions& request, int& stages) {
  stages = 0;
  std::vector<std::string> finished;
  RunOptions early;
  return each_stage(first, inputs, request,
                    [&](Planned& planned, const NamedTensors& arguments,
                        const Destinations& destinations, bool more) {
                      ++stages;
                      if (more && stages == 1) {
                        early.stop = request.stop;
                        if (output_callback(request))
                          early.on_output_ready = [&](const std::string& name) {
                            finished.push_back(name);
                          };
                      }
                      if (!more)
                        for (const auto& name : std::exchange(finished, {}))
                          output_callback(request)(name);
                      return run(planned, arguments, destinations, more ? early : request, more);
                    });
}

bool Session::Impl::repeat(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                           const std::stop_token& stop) {
  const auto& now = graphs.up_to_date();  // may drop the cached run
  if (!planner.quick || FileMemory::any_mapped() || !planner.quick->is_of(now) ||
      !planner.quick->fits(inputs, outputs) || !planner.quick->has_no_overlap(inputs, outputs))
    return false;
  auto& execution = planner.quick->bind(inputs, outputs);
  RunTransaction whole(*this);
  execution.set_step(step - 1);
  const WatchedStop watched(execution, stop);
  try {
    back_up(planner.quick->planned(), false, stop);
    execution.run_steps(stop);
    end_copied_process();
    execution.finish();
  } catch (...) {
    execution.abandon();
    throw;
  }
  whole.commit();
  return true;
}

std::optional<NamedTensors> Session::Impl::repeat(const NamedTensors& inputs,
                                                  const std::stop_token& stop) {
  if (!planner.quick || inputs.size() != planner.quick->inputs().size()) return std::nullopt;
  std::vector<Tensor> arguments, made(planner.quick->outputs().size());
  arguments.reserve(inputs.size());
  for (const auto& binding : planner.quick->inputs())
    if (const auto found = inputs.find(binding.name); found != inputs.end())
      arguments.push_back(found->second);
  if (!repeat(arguments, made, stop)) return std::nullopt;
  std::optional<NamedTensors> named(std::in_place);
  for (std::size_t i = 0; i < made.size(); ++i)
    named->emplace(planner.quick->outputs()[i].name, std::move(made[i]));
  return named;
}

// `first`: what the run began with. The application may have changed constants since, and another
// graph may be up to date now.
void Session::Impl::cache_quick_run(const RunStage& first, int stages) {
  if (is_plain() && stages == 1 && !overlapped && plans.last() != nullptr)
    planner.quick = QuickRun::of(*first.stage, *first.graph, *plans.last());
}

void Session::Impl::run_in_order(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                                 const std::stop_token& stop) {
  const auto& names = model();
  const auto count = [](const char* what, std::size_t found, std::size_t needed) {
    if (found != needed)
      throw Failure(FailureKind::usage,
                    fmt::format("got {} {} but the graph has {}", found, what, needed));
  };
  count("inputs", inputs.size(), names.inputs.size());
  count("outputs", outputs.size(), names.outputs.size());
  if (repeat(inputs, outputs, stop)) return;
  NamedTensors arguments;
  RunOptions request{.stop = stop};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) arguments.emplace(names.strings[names.values[names.inputs[i]].name], inputs[i]);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i])
      request.destinations.emplace(names.strings[names.outputs[i].first], Destination{outputs[i]});
  int stages = 0;
  const auto first = planner.first_stage({});
  auto made = run(first, arguments, request, stages);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = made.at(std::string(names.strings[names.outputs[i].first]));
  cache_quick_run(first, stages);
}

// Rolled back like a failed run, so it changes nothing.
std::string Session::Impl::first_non_finite(const NamedTensors& inputs) {
  const StepByStep each_node(*this);
  const RunTransaction undone(*this);
  step = std::max<std::uint64_t>(1, step - 1);  // reuses the random numbers of the last run
  std::string found;
  struct Found {};
  const auto visit_stage = [&](Planned& planned, const NamedTensors& arguments, const Destinations&,
                               bool) {
    auto& execution = *planned.execution;
    auto outputs = bind_outputs(planned, arguments, {}, options.keep_on_device);
    execution.set_step(step - 1);
    back_up(planned, true, {});
    try {
      NonFiniteValues observer(execution);
      StepObserver* const observers[] = {&observer};
      if (observer.found().empty()) run_observed(execution, observers, {});
      found = observer.found();
    } catch (...) {
      execution.abandon();
      throw;
    }
    execution.abandon();
    if (!found.empty())
      throw Found();  // later stages would depend on values that were not computed
    take_sparse_outputs(execution, options.keep_on_device, outputs);
    return outputs;
  };
  try {
    const auto first = planner.first_stage({});
    try {
      each_stage(first, inputs, {}, visit_stage);
    } catch (const CannotResume& refused) {
      each_stage(restart(first, inputs, refused), inputs, {}, visit_stage);
    }
  } catch (const Found&) {
  }
  return found;
}

}  // namespace tenon

// The implementation of Session.
#pragma once
#include <functional>
#include <optional>
#include <tenon/host/session.hpp>

#include "run/one_thread.hpp"
#include "run/session/plan_store.hpp"
#include "run/session/planner.hpp"
#include "run/session/session_graph.hpp"
#include "run/session/state_backup.hpp"
#include "run/session/step_observer.hpp"
#include "tensor/backing_files.hpp"

namespace tenon {

/// Runs a graph and caches its plans. The caller's graph is only read.
struct Session::Impl {
  Impl(const Graph& source, SessionOptions user_options);

  /// The original graph's model, whose names and value ids are valid for the executed graph, too.
  const GraphModel& model() const { return graphs.model(); }
  const Binding& binding() const { return graphs.snapshot()->binding; }
  /// A variable's, state's or constant's tensor: the session's own memory. Throws Failure (usage)
  /// for other values.
  const Tensor& tensor(ValueId value) const;
  const Tensor& tensor(std::string_view name) const { return tensor(find_value(model(), name)); }
  /// Returns a tensor on the CPU; a copy if runs change it.
  Tensor copy_of(ValueId value) const;
  bool changes(ValueId value) const { return run_changes(model(), options, value); }

  /// The plan for inputs of these shapes, on the CPU; it is not run.
  Planned& plan(const std::map<std::string, Shape>& shapes);

  // session_run.cpp

  /// A plan whose execution has the run's inputs bound.
  Planned& prepare(RunStage& next, const NamedTensors& inputs, const Destinations& destinations,
                   std::vector<Tensor>& input_copies);
  /// Like prepare(), but without elementwise fusion if a destination overlaps memory that the run
  /// reads, or another destination.
  Planned& prepare_for_overlaps(RunStage& next, const NamedTensors& inputs,
                                const Destinations& destinations,
                                std::vector<Tensor>& input_copies);

  using Visit = std::function<NamedTensors(Planned& planned, const NamedTensors& inputs,
                                           const Destinations& destinations, bool more)>;
  /// Runs all stages in order: `visit` runs one and returns its outputs. `more`: further stages
  /// follow.
  NamedTensors each_stage(RunStage next, const NamedTensors& inputs, const RunOptions& request,
                          const Visit& visit);
  /// A run by names. It changes states, variables and accumulating destinations once or, if it
  /// fails, not at all.
  NamedTensors run(const NamedTensors& inputs, const RunOptions& request);
  void run_in_order(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                    const std::stop_token& stop);
  std::string first_non_finite(const NamedTensors& inputs);
  /// Rolls back what the current run has changed so far.
  void roll_back();

  /// Held while one of the session's functions runs.
  struct Use : OneThread::Use {
    explicit Use(const Session& session);
  };

  /// During its lifetime, plans have one step per node, so that every value can be inspected.
  class StepByStep {
   public:
    explicit StepByStep(Impl& session) : session_(session) { session.step_by_step = true; }
    ~StepByStep() { session_.step_by_step = false; }
    StepByStep(const StepByStep&) = delete;
    StepByStep& operator=(const StepByStep&) = delete;

   private:
    Impl& session_;
  };

  const Graph graph;
  const SessionOptions options;
  SessionGraphs graphs;
  BackingFiles files;  // of the session's tensors
  OneThread used;
  ErrorBuffer error;
  Streams streams;
  ExecutionContext context;
  PlanStore plans;  // destroyed before what its executions use
  Planner planner{host(), options, graphs, plans, context};
  StateBackup backup{streams};
  StateBackup* batches = nullptr;  // of a batched run, which succeeds or fails as a whole
  bool restores_sums =
      true;  // back up accumulating destinations; false: the caller drops them on failure
  Trace trace{options.trace};
  bool trace_complete = true;
  NodeTimes times;
  bool step_by_step = false;
  bool overlapped = false;           // whether destinations of the last run overlapped
  std::vector<ValueId> initialized;  // variables and states that the current run initialized
  std::uint64_t step = 0;

 private:
  Host::Impl& host() const { return impl_of(graph.host()); }
  bool is_plain() const { return options.trace.empty() && !options.profile && !options.debug; }

  // session_run.cpp
  class RunTransaction;
  NamedTensors run(const RunStage& first, const NamedTensors& inputs, const RunOptions& request,
                   int& stages);
  /// Takes back the run so far and returns the original graph's first stage; later runs of such
  /// inputs begin with it. Throws Failure if that would run a node twice that must not be.
  RunStage restart(const RunStage& first, const NamedTensors& inputs, const CannotResume& refused);
  NamedTensors run_stages(const RunStage& first, const NamedTensors& inputs,
                          const RunOptions& request, int& stages);
  NamedTensors run(Planned& planned, const NamedTensors& inputs, const Destinations& destinations,
                   const RunOptions& request, bool more);
  void call_steps(Planned& planned, const Destinations& destinations, const NamedTensors& outputs,
                  const RunOptions& request);
  void end_trace();
  /// Backs up what a run of this plan changes, unless nothing can fail after its first change.
  /// `fails_late`: what follows the plan's steps may fail.
  void back_up(Planned& planned, bool fails_late, const std::stop_token& stop);
  void back_up(const Tensor& changed);
  /// Backs up destinations that the plan accumulates into.
  void back_up_sums(const Plan& plan, const Destinations& destinations);
  void require_unchanged_files(const NamedTensors& inputs) const;
  bool repeat(std::span<const Tensor> inputs, std::span<Tensor> outputs,
              const std::stop_token& stop);
  std::optional<NamedTensors> repeat(const NamedTensors& inputs, const std::stop_token& stop);
  void cache_quick_run(const RunStage& first, int stages);
};

}  // namespace tenon

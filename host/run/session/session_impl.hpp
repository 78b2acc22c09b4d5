// The implementation of Session.
#pragma once
#include <functional>
#include <optional>
#include <tenon/host/session.hpp>

#include "run/one_thread.hpp"
#include "run/session/plan_store.hpp"
#include "run/session/quick_run.hpp"
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

  // session_plans.cpp

  /// A stage of a run, with its graph.
  struct NextStage {
    SessionGraph* graph;
    std::shared_ptr<const Stage> stage;
    std::vector<std::string> outputs;  ///< requested by the run; empty: all
  };
  /// The properties of a run that determine its plan, with contiguous copies of inputs, which live
  /// until the end of the run.
  struct Request {
    std::map<ValueId, tenon_type> types{};
    std::map<ValueId, Device*> devices{};
    Inference::Elements elements{};
    std::vector<Tensor> input_copies{};
    const Destinations* destinations = nullptr;  ///< of a run; null: the plan is not run
  };
  /// Thrown if the optimized graph cannot be planned for these inputs: a rule was applied before
  /// all shapes were known, or the inputs are wrong.
  struct CannotPlan {
    PlanStore::Key key;
    std::shared_ptr<const Stage>
        fallback{};  ///< an already planned stage of the original graph; null: none
  };
  /// Thrown if the original graph cannot continue where the optimized one stopped. `node`: one that
  /// has run and must not run twice in one run; empty: none.
  struct CannotResume {
    std::string node;
  };

  NextStage first_stage(const std::vector<std::string>& outputs);
  NextStage original_stage(const std::vector<std::string>& outputs);
  /// The plan of a stage. If the optimized graph cannot be planned, plans the rest of the original
  /// one and sets `next` to it. Throws Failure if the graph refuses the inputs, if a destination
  /// does not fit, or if memory does not suffice, and CannotResume; none of them changes existing
  /// plans.
  Planned& plan(NextStage& next, const std::function<Request(const NextStage&)>& request_of);
  Planned& plan(const std::map<std::string, Shape>& shapes);
  /// A plan whose execution has the run's inputs bound.
  Planned& prepare(NextStage& next, const NamedTensors& inputs, const Destinations& destinations,
                   std::vector<Tensor>& input_copies);
  /// Like prepare(), but without elementwise fusion if a destination overlaps memory that the run
  /// reads, or another destination.
  Planned& prepare_for_overlaps(NextStage& next, const NamedTensors& inputs,
                                const Destinations& destinations,
                                std::vector<Tensor>& input_copies);
  bool fuses() const { return !options.debug && !step_by_step; }

  // session_run.cpp

  using Visit = std::function<NamedTensors(Planned& planned, const NamedTensors& inputs,
                                           const Destinations& destinations, bool more)>;
  /// Runs all stages in order: `visit` runs one and returns its outputs. `more`: further stages
  /// follow.
  NamedTensors each_stage(NextStage next, const NamedTensors& inputs, const RunOptions& request,
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
  PlanStore plans;                  // destroyed before what its executions use
  std::unique_ptr<QuickRun> quick;  // for the last used plan
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
  std::uint64_t stage_count = 0;
  std::uint64_t step = 0;

 private:
  Host::Impl& host() const { return impl_of(graph.host()); }
  bool is_plain() const { return options.trace.empty() && !options.profile && !options.debug; }

  // session_plans.cpp
  PlanStore::Key key_of(const Stage& stage, const Request& request) const {
    return PlanStore::key_of(stage, fuses(), request.types, request.devices, request.elements);
  }
  Planned& find_or_make(const NextStage& next, const Request& request);
  Planned make(const NextStage& next, const Request& request);
  /// The part of the original graph that remains where the optimized one cannot be planned.
  std::shared_ptr<const Stage> rest_of_original(const NextStage& optimized);
  Request request_of(const NextStage& next, const NamedTensors& inputs) const;

  // session_run.cpp
  class RunTransaction;
  NamedTensors run(const NextStage& first, const NamedTensors& inputs, const RunOptions& request,
                   int& stages);
  /// Takes back the run so far and returns the original graph's first stage; later runs of such
  /// inputs begin with it. Throws Failure if that would run a node twice that must not be.
  NextStage restart(const NextStage& first, const NamedTensors& inputs,
                    const CannotResume& refused);
  NamedTensors run_stages(const NextStage& first, const NamedTensors& inputs,
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
  void cache_quick_run(const NextStage& first, int stages);
};

}  // namespace tenon

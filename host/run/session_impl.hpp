// What a Session consists of.
#pragma once
#include <optional>
#include <tenon/host/session.hpp>

#include "run/graph_impl.hpp"
#include "run/one_thread.hpp"
#include "run/plan_cache.hpp"
#include "run/quick_run.hpp"
#include "run/state_backup.hpp"
#include "run/trace.hpp"
#include "tensor/backing_files.hpp"

namespace tenon {

/// The graph is only read; what runs change lies in `tensors`.
struct Session::Impl {
  Impl(const Graph& given, SessionOptions given_options);

  const GraphModel& model() const { return running->model; }
  const Binding& binding() const { return running->binding; }
  /// A variable's, state's or constant's elements: the session's own memory. Throws Failure (usage) for other values.
  const Tensor& tensor(ValueId value) const;
  const Tensor& tensor(std::string_view name) const { return tensor(find_value(model(), name)); }
  /// On the CPU, and a copy where runs change it.
  Tensor copy_of(ValueId value) const;
  /// Whether runs change the value's elements.
  bool changes(ValueId value) const;

  /// What runs for these outputs, or for all where none is named.
  const std::shared_ptr<const Stage>& stage_for(const std::vector<std::string>& outputs);
  /// With the plan for these inputs. `kept`: contiguous copies, which live until the run is over.
  Planned& prepare(const std::shared_ptr<const Stage>& stage, const NamedTensors& inputs, const Destinations& destinations,
                   std::vector<Tensor>& kept);
  /// The same, with a step for each node where a destination overlaps what the run reads, or another one.
  Planned& prepare_apart(const std::shared_ptr<const Stage>& stage, const NamedTensors& inputs, const Destinations& destinations,
                         std::vector<Tensor>& kept);
  Planned& plan_for(const std::shared_ptr<const Stage>& stage, const std::map<ValueId, tenon_type>& inputs,
                    const std::map<ValueId, Device*>& devices, const Inference::Elements& elements);
  Planned& plan_for(const std::map<std::string, Shape>& shapes) { return plan_for(stage_for({}), input_types(model(), shapes), {}, {}); }
  /// All stages, one after the other: `visit(execution, inputs, destinations, more)` runs one and returns its outputs. `more`: it is one
  /// of several, and not the last.
  template <class Visit>
  NamedTensors each_stage(const NamedTensors& inputs, const RunOptions& request, Visit&& visit);
  /// A run of all stages, and their number. It changes states, variables and destinations that it adds to once, or not at all.
  NamedTensors run(const NamedTensors& inputs, const RunOptions& request, int& stages);
  NamedTensors run_stages(const NamedTensors& inputs, const RunOptions& request, std::uint64_t number, int& stages);
  NamedTensors run(Execution& execution, const NamedTensors& inputs, const Destinations& destinations, const RunOptions& request,
                   std::uint64_t number, bool more);
  void run_in_order(std::span<const Tensor> inputs, std::span<Tensor> outputs, const std::stop_token& stop);
  /// A run like the one that was remembered; false where it is not, and then nothing has happened.
  bool repeat(std::span<const Tensor> inputs, std::span<Tensor> outputs, const std::stop_token& stop);
  std::optional<NamedTensors> repeat(const NamedTensors& inputs, const std::stop_token& stop);
  /// The last run, which had so many stages and all outputs.
  void remember(int stages);
  void execute_watched(Execution& execution, const std::stop_token& stop);
  void execute_debug(Execution& execution, const std::stop_token& stop);

  /// Copies what the run of this plan changes, unless nothing can fail once it has begun to. `more`: stages follow.
  void back_up(const Execution& execution, const NamedTensors& inputs, const RunOptions& request, bool more);
  /// The same for a run of one stage whose inputs are of no files.
  void back_up(const Execution& execution, const std::stop_token& stop);
  void back_up(const Tensor& changed);

  /// Thrown by plan_for() if the optimized graph cannot be planned for these inputs.
  struct CannotPlan {};
  /// Calls f, which plans and maybe runs. If the optimized graph cannot be planned, a rule looked at less than all shapes or the inputs
  /// are wrong: f is called with the original graph, from the state before the first call. The original graph stays if that succeeds.
  template <class F>
  auto as_optimized_or_original(F&& f) {
    try {
      return f();
    } catch (const CannotPlan&) {
      backup.put_back();
    }
    auto optimized = set_aside();
    try {
      use(written);
      auto done = f();
      sources.clear();
      return done;
    } catch (...) {
      backup.put_back();
      take_back(std::move(optimized));
      throw;
    }
  }

  /// Before a run: what was computed once is what it would be now.
  void require_current_constants() {
    if (!sources.empty()) [[unlikely]]
      look_at_sources();
  }

  // session_outputs.cpp
  NamedTensors bind_outputs(Execution& execution, const NamedTensors& inputs, const Destinations& destinations);
  void take_sparse_outputs(Execution& execution, NamedTensors& outputs);
  void check_destinations(const Plan& plan, const Destinations& destinations) const;

  // session_warnings.cpp
  void warn_of_conversions(const Plan& plan);
  void warn_of_fallbacks(const Plan& plan);
  void warn_of_random_values();
  void warn_of_capture(const Execution& execution);

  // session_watch.cpp
  std::string watch(Execution& execution);

  /// Held while one of the session's functions runs.
  struct Use : OneThread::Use {
    explicit Use(const std::unique_ptr<Impl>& session);
  };

  /// While it lives, plans have a step for each node, whose values can be looked at.
  class StepByStep {
   public:
    explicit StepByStep(Impl& session) : session_(session) { session.step_by_step = true; }
    ~StepByStep() { session_.step_by_step = false; }
    StepByStep(const StepByStep&) = delete;
    StepByStep& operator=(const StepByStep&) = delete;

   private:
    Impl& session_;
  };
  bool joins_chains() const { return !options.debug && !step_by_step; }

  const Graph graph;
  const std::shared_ptr<const GraphSnapshot> written;  // the graph, with the nodes that composed operators consist of
  std::shared_ptr<const GraphSnapshot> running;        // the same, or what optimized_graph() makes of it
  TensorTable tensors;
  std::vector<std::pair<ValueId, std::uint64_t>> sources;  // constants that `running` may be made of, and their versions
  std::uint64_t versions = 0;                              // HeldTensor::all_versions() when those were looked at
  BackingFiles files;                                      // of `tensors`
  std::vector<ValueId> random_variables;                   // that this session gave their numbers, until it has warned of them
  SessionOptions options;
  OneThread used;
  ErrorBuffer error;
  Streams streams;
  StateBackup backup{streams};
  StateBackup* batches = nullptr;  // of a run in batches, which succeed together
  bool puts_back_sums = true;      // destinations that are added to; false: who runs drops them
  std::unique_ptr<Kernels> kernels;
  ExecutionContext context;
  PlanCache plans;
  std::unique_ptr<QuickRun> quick;                                          // for the plan that was used last
  std::map<std::vector<std::string>, std::shared_ptr<const Stage>> stages;  // the first ones, by the outputs' names; none: of all
  std::uint64_t stage_count = 0;
  Trace trace{options.trace};
  bool trace_complete = true;
  bool step_by_step = false;
  bool overlapped = false;                                        // destinations of the last run
  std::map<std::pair<std::string, std::string>, NodeTime> times;  // by node and what it does
  std::uint64_t step = 0;

 private:
  Host::Impl& host() const { return impl_of(graph.host()); }
  void own_changing();
  void hold_constants();
  std::vector<bool> constants() const;
  void use(std::shared_ptr<const GraphSnapshot> graph);
  /// What a session runs, with plans that are ready.
  struct Running {
    std::shared_ptr<const GraphSnapshot> graph;
    TensorTable tensors;
    std::unique_ptr<Kernels> kernels;
    PlanCache plans;
    std::map<std::vector<std::string>, std::shared_ptr<const Stage>> stages;
  };
  Running set_aside();
  void take_back(Running running);
  void place();
  void optimize();
  void look_at_sources();
  Planned& make_plan_for(const std::shared_ptr<const Stage>& stage, PlanCache::Key key, const std::map<ValueId, tenon_type>& inputs,
                         const std::map<ValueId, Device*>& devices, const Inference::Elements& elements);
  void initialize_missing(const std::vector<tenon_type>& types);
  void require_unchanged_files(const NamedTensors& inputs) const;
  std::map<ValueId, tenon_type> check_inputs(const NamedTensors& inputs, const Stage& stage) const;
};

/// What no kernel could write where it is wanted: a second name of one value, an input that is an output, a sum that kernels cannot make.
void deliver(const Destinations& destinations, NamedTensors& outputs);

}  // namespace tenon

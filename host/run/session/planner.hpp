// Finds or makes the plans of a session's runs.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tenon/host/session.hpp>
#include <vector>

#include "run/session/plan_store.hpp"
#include "run/session/quick_run.hpp"
#include "run/session/session_graph.hpp"

namespace tenon {

/// A stage of a run, with its graph.
struct RunStage {
  SessionGraph* graph;
  std::shared_ptr<const Stage> stage;
  std::vector<std::string> outputs;  ///< requested by the run; empty: all
};

/// The properties of a run that determine the plan of a stage, with contiguous copies of the
/// inputs, which live until the end of the run.
struct StageInputs {
  std::map<ValueId, tenon_type> types{};
  std::map<ValueId, Device*> devices{};
  Inference::Elements elements{};
  std::vector<Tensor> copies{};
  const Destinations* destinations = nullptr;  ///< of a run; null: the plan is not run
  bool fused = true;  ///< fuse elementwise nodes; false: the plan has one step per node
};

/// `graphs`: those of the session, whose variables and states may determine shapes. Throws Failure
/// for missing and unknown inputs, and for those that cannot determine a shape.
StageInputs stage_inputs(const SessionGraphs& graphs, const RunStage& next,
                         const NamedTensors& inputs);

/// Thrown if the original graph cannot continue where the optimized one stopped. `node`: one that
/// has run and must not run twice in one run; empty: none.
struct CannotResume {
  std::string node;
};

/// Plans the stages of runs, and keeps the plans in a store. Threads: one at a time.
class Planner {
 public:
  using InputsOf = std::function<StageInputs(const RunStage& stage)>;

  /// The arguments outlive the planner.
  /// `inferred_from`: the constants that determined types of the graph.
  Planner(Host::Impl& host, const SessionOptions& options, SessionGraphs& graphs, PlanStore& plans,
          const ExecutionContext& context, const ReadConstants& inferred_from)
      : host_(host),
        options_(options),
        graphs_(graphs),
        plans_(plans),
        context_(context),
        fixed_(options.constant_weights ? ReadConstants() : inferred_from) {
    if (!options.constant_weights) fixed_.add(graphs.model().inferred_from);
  }

  /// The graph to run now. Drops all plans if the application has changed constants that planning
  /// read. Throws Failure (usage) if it has changed one that the session cannot follow.
  SessionGraph& up_to_date() {
    if (fixed_.changed()) [[unlikely]]
      refuse_changed();
    if (constants_.changed()) [[unlikely]]
      drop_all();
    return graphs_.up_to_date();
  }
  /// The stage that a run of these outputs begins with.
  RunStage first_stage(const std::vector<std::string>& outputs);
  /// The plan of a stage. If the optimized graph cannot be planned, plans the rest of the original
  /// one and sets `next` to it. Appends the variables and states that it initializes to
  /// `initialized`. Throws Failure if the graph refuses the inputs, if a destination does not fit,
  /// or if memory does not suffice, and CannotResume; none of them changes existing plans.
  Planned& plan(RunStage& next, const InputsOf& inputs_of, std::vector<ValueId>& initialized);
  /// The plan's execution; its memory is valid until another execution is requested. Throws Failure
  /// (failed) if memory does not suffice.
  Execution& execution_of(Planned& planned, const Destinations& destinations);
  /// Returns the first stage of the original graph, with which later runs of such inputs begin.
  RunStage fall_back(const RunStage& first, const StageInputs& inputs);

  /// Those of the graph that ran last.
  const TensorTable& tensors() const { return graphs_.last().tensors; }

  /// Drops all plans of a graph.
  void drop(const SessionGraph& graph);
  /// Drops the elements of variables and states, and the plans that use them: the run that
  /// initialized them failed.
  void drop_values(std::span<const ValueId> values);

  /// For the plan executed last, which belongs to the graph that ran last; null before the first
  /// run. Requests that are refused do not change it.
  std::unique_ptr<QuickRun> quick;

 private:
  struct CannotPlan;

  RunStage original_stage(const std::vector<std::string>& outputs);
  PlanStore::Key key_of(const Stage& stage, const StageInputs& inputs) const;
  bool fuses(const StageInputs& inputs) const { return !options_.debug && inputs.fused; }
  Planned& find_or_make(const RunStage& next, const StageInputs& inputs,
                        std::vector<ValueId>& initialized);
  Planned make(const RunStage& next, const StageInputs& inputs, std::vector<ValueId>& initialized);
  /// Makes the plan's execution if it has none. Throws Failure if a destination does not fit or if
  /// memory does not suffice.
  void prepare_run(Planned& planned, const Destinations& destinations);
  void drop_all();
  void note_reads(const GraphModel& model, const TensorTable& tensors,
                  const std::set<ValueId>& read);
  void refuse_changed() const;
  std::shared_ptr<const Stage> rest_of_original(const RunStage& optimized);

  Host::Impl& host_;
  const SessionOptions& options_;
  SessionGraphs& graphs_;
  PlanStore& plans_;
  const ExecutionContext& context_;
  ReadConstants fixed_;  // those that types of the graph follow from, or that the session copied
  ReadConstants constants_;  // the others that planning read
  std::uint64_t stage_count_ = 0;
};

}  // namespace tenon

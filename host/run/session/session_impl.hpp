// The implementation of Session.
#pragma once
#include <optional>
#include <span>
#include <tenon/host/session.hpp>

#include "run/one_thread.hpp"
#include "run/session/plan_store.hpp"
#include "run/session/planner.hpp"
#include "run/session/session_graph.hpp"
#include "run/session/state_backup.hpp"
#include "run/session/step_observer.hpp"
#include "run/session/trace.hpp"
#include "tensor/backing_files.hpp"

namespace tenon {

class RunTransaction;
class SessionRun;

/// Runs a graph and caches its plans. The caller's graph is only read. What belongs to one run only
/// is in SessionRun.
struct Session::Impl {
  Impl(const Graph& source, SessionOptions user_options);

  Host::Impl& host() const { return impl_of(graph.host()); }
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
  /// A run by names. `parent`: of runs that succeed or fail together; may be null.
  NamedTensors run(const NamedTensors& inputs, const RunOptions& request,
                   RunTransaction* parent = nullptr);
  void run_in_order(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                    const std::stop_token& stop);
  std::string first_non_finite(const NamedTensors& inputs);

  /// Held while one of the session's functions runs.
  struct Use : OneThread::Use {
    explicit Use(const Session& session);
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
  Planner planner{host(), options, graphs, plans, context, impl_of(graph).model().inferred_from};
  StateBackup backup{streams};  // of the run in progress; its memory is kept for the next run
  bool restores_sums =
      true;  // back up accumulating destinations; false: the caller drops them on failure
  Trace trace{options.trace};
  bool trace_complete = true;
  NodeTimes times;
  std::uint64_t step = 0;

 private:
  bool repeat(std::span<const Tensor> inputs, std::span<Tensor> outputs,
              const std::stop_token& stop, RunTransaction* parent);
  std::optional<NamedTensors> repeat(const NamedTensors& inputs, const std::stop_token& stop,
                                     RunTransaction* parent);
  void cache_quick_run(const SessionRun& run);
};

}  // namespace tenon

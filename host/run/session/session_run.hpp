// One run of a session.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <tenon/host/session.hpp>
#include <vector>

#include "run/session/planner.hpp"
#include "run/session/run_transaction.hpp"
#include "run/session/trace.hpp"

namespace tenon {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
inline const std::function<void(const std::string&)>& output_callback(const RunOptions& request) {
  return request.on_output_ready ? request.on_output_ready : request.finished;
}
#pragma GCC diagnostic pop

/// A run from its first stage to its outputs, with what belongs to this run only. It changes
/// states, variables and accumulating destinations once or, if it fails, not at all. To be used for
/// one call of outputs() or first_non_finite().
class SessionRun {
 public:
  /// The arguments outlive the run; their names are the graph's. `parent`: of runs that succeed or
  /// fail together; may be null. Throws Failure for unknown outputs.
  SessionRun(Session::Impl& session, const NamedTensors& inputs, const RunOptions& request,
             RunTransaction* parent = nullptr);

  /// Runs the stages, commits, and returns the outputs.
  NamedTensors outputs();
  /// Repeats the session's last run node by node, up to the first value that is not finite.
  /// Returns its description, or an empty string. Changes nothing.
  std::string first_non_finite();

  /// The stage that the run began with. The application may have changed constants since, and
  /// another graph may be up to date now.
  const RunStage& first() const { return first_; }
  /// Whether all outputs were computed by one plan that fuses all nodes it can.
  bool used_one_plan() const { return stages_ == 1 && !overlaps_; }

 private:
  NamedTensors run_stages();
  NamedTensors run_stages(RunStage next);
  /// Rolls back the run so far and returns the original graph's first stage; later runs of such
  /// inputs begin with it. Throws Failure if that would run a node twice that must not be.
  RunStage restart(const CannotResume& refused);

  /// Finds the plan of a stage and binds the inputs to its execution. Fuses no elementwise nodes if
  /// a destination overlaps memory that the run reads, or another destination.
  Planned& prepare(RunStage& next, const NamedTensors& inputs, std::vector<Tensor>& input_copies);
  Planned& bind_inputs(RunStage& next, const NamedTensors& inputs, bool fused,
                       std::vector<Tensor>& input_copies);

  /// Runs one stage and returns its outputs. `more`: further stages follow.
  NamedTensors run_stage(Planned& planned, const NamedTensors& inputs,
                         const Destinations& destinations, bool more);
  void call_steps(Planned& planned, const Destinations& destinations, const NamedTensors& outputs,
                  bool more);
  /// Like run_stage(), but only until the first value that is not finite.
  NamedTensors search_stage(Planned& planned, const NamedTensors& inputs);
  void require_unchanged_files(const NamedTensors& inputs) const;

  Session::Impl& session_;
  const NamedTensors& inputs_;
  const RunOptions& request_;
  const RunStage first_;
  RunTransaction transaction_;
  int stages_ = 0;                                       // that ran
  std::optional<Trace::Clock::time_point> steps_begin_;  // of the first stage; set if measured
  bool overlaps_ = false;                                // destinations of the last stage overlap
  std::vector<std::string> finished_;  // outputs that are reported once all stages have plans
  bool searches_ = false;              // for a value that is not finite
  std::string non_finite_;
};

}  // namespace tenon

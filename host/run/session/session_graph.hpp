// The graph that a session runs, as the application built it and as optimization rewrites it.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tenon/host/session.hpp>
#include <vector>

#include "plan/stages.hpp"
#include "run/graph_impl.hpp"
#include "tensor/held_tensor.hpp"

namespace tenon {

/// A graph with the session's tensors and with what is prepared of it: kernels and first stages. The original graph's values have the
/// same numbers in the optimized one. Threads: one at a time.
class SessionGraph {
 public:
  /// `tensors`: those of another graph of the session, or of the snapshot. Throws Failure if an operator has no kernel.
  SessionGraph(Host::Impl& host, std::shared_ptr<const GraphSnapshot> snapshot, TensorTable tensors, const SessionOptions& options);
  SessionGraph(const SessionGraph&) = delete;
  SessionGraph& operator=(const SessionGraph&) = delete;

  const GraphModel& model() const { return snapshot->model; }
  const Binding& binding() const { return snapshot->binding; }

  /// The first stage of a run of these outputs; of all if none is named. `next_id` numbers new stages.
  const std::shared_ptr<const Stage>& stage_for(const std::vector<std::string>& outputs, std::uint64_t& next_id);
  /// Gives values to variables and states whose shapes are among `types`. Appends them to `initialized`, and to `random` those that got
  /// random numbers.
  void initialize_missing(const std::vector<tenon_type>& types, std::vector<ValueId>& initialized, std::vector<ValueId>& random);
  /// Takes over what runs of the session's other graph changed or initialized. True: memory that executions use was replaced.
  bool adopt(const SessionGraph& other);
  /// Which values kernels may prepare packed constants of, by value; empty: none.
  std::vector<bool> constants() const;

  const std::shared_ptr<const GraphSnapshot> snapshot;
  TensorTable tensors;
  const Kernels kernels;

 private:
  void place();

  const SessionOptions& options_;
  std::map<std::vector<std::string>, std::shared_ptr<const Stage>> stages_;  // by requested outputs
};

/// Whether runs change the value's elements.
bool run_changes(const GraphModel& model, const SessionOptions& options, ValueId value);

/// The original graph and the optimized one, each made when it is first needed. Threads: one at a time.
class SessionGraphs {
 public:
  /// `options` outlives this. `drop` is called for a graph that goes, and for one whose tensors get other addresses: its plans and
  /// executions are no longer good. Throws Failure for variables that cannot be initialized.
  SessionGraphs(Host::Impl& host, std::shared_ptr<const GraphSnapshot> original, const SessionOptions& options,
                std::function<void(const SessionGraph&)> drop);

  /// The graph to run now: the optimized one, unless constants that it was made of may have been written since.
  SessionGraph& up_to_date() {
    if (!sources_.empty() && (held_ || versions_ != HeldTensor::all_versions())) [[unlikely]]
      update();
    return optimized_ != nullptr && !held_ ? *optimized_ : original();
  }
  SessionGraph& original();
  bool is_optimized(const SessionGraph& graph) const { return &graph == optimized_.get(); }

  /// The graphs that were made so far.
  std::vector<SessionGraph*> all() const;
  /// The graph that ran last, whose tensors have the values of variables and states.
  SessionGraph& last() const { return *last_; }
  /// `graph` runs from here on.
  void run(SessionGraph& graph) {
    if (&graph != last_) [[unlikely]]
      change_to(graph);
  }

  /// The original graph's, whose names and value numbers hold for both.
  const GraphModel& model() const { return snapshot_->model; }
  const std::shared_ptr<const GraphSnapshot>& snapshot() const { return snapshot_; }
  /// Variables that got random numbers, until they are taken.
  std::vector<ValueId> random_variables;

 private:
  void update();
  void optimize();
  void change_to(SessionGraph& graph);

  Host::Impl& host_;
  const SessionOptions& options_;
  const std::function<void(const SessionGraph&)> drop_;
  const std::shared_ptr<const GraphSnapshot> snapshot_;  // with the nodes that composed operators consist of
  TensorTable first_tensors_;                            // until the first graph has them
  std::unique_ptr<SessionGraph> original_, optimized_;   // optimized_: null if optimization changes nothing
  SessionGraph* last_ = nullptr;
  std::vector<std::pair<ValueId, std::uint64_t>> sources_;  // constants that optimized_ may be made of, and their versions
  std::uint64_t versions_ = 0;                              // HeldTensor::all_versions() when those were looked at
  bool held_ = false;                                       // the application has handles of sources, and may write them
};

}  // namespace tenon

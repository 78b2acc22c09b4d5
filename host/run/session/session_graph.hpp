// The graphs that a session runs: the original one and its optimized form.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tenon/host/session.hpp>
#include <vector>

#include "plan/stages.hpp"
#include "run/graph_impl.hpp"
#include "tensor/tracked_tensor.hpp"

namespace tenon {

/// A graph with the session's tensors and what is prepared for it: kernels and first stages. The
/// original graph's values have the same ids in the optimized one. Threads: one at a time.
class SessionGraph {
 public:
  /// `tensors`: of the session's other graph, or of the snapshot. Throws Failure if an operator has
  /// no kernel.
  SessionGraph(Host::Impl& host, std::shared_ptr<const GraphSnapshot> snapshot, TensorTable tensors,
               const SessionOptions& options);
  SessionGraph(const SessionGraph&) = delete;
  SessionGraph& operator=(const SessionGraph&) = delete;

  const GraphModel& model() const { return snapshot->model; }
  const Binding& binding() const { return snapshot->binding; }

  /// The first stage of a run of these outputs; all outputs if the list is empty. `next_id` numbers
  /// new stages.
  const std::shared_ptr<const Stage>& stage_for(std::vector<std::string> outputs,
                                                std::uint64_t& next_id);
  /// Initializes variables and states whose shapes are in `types`. Appends them to `initialized`,
  /// and those with random values to `random`.
  void initialize_missing(const std::vector<tenon_type>& types, std::vector<ValueId>& initialized,
                          std::vector<ValueId>& random);
  /// Takes over what runs of the session's other graph changed or initialized. Returns whether
  /// memory that executions use was replaced.
  bool adopt(const SessionGraph& other);
  /// Whether adopt() takes over this value: a variable or state that runs change, or that only the
  /// other graph has.
  bool takes_over(const SessionGraph& other, ValueId id) const;
  /// Marks, by value id, the values whose packed constants kernels may prepare; empty: none.
  std::vector<bool> constants() const;

  const std::shared_ptr<const GraphSnapshot> snapshot;
  TensorTable tensors;
  const Kernels kernels;

 private:
  void update_placement();

  const SessionOptions& options_;
  std::map<std::vector<std::string>, std::shared_ptr<const Stage>>
      stages_;  // by the requested outputs, sorted
};

/// Whether runs change the value's elements.
bool run_changes(const GraphModel& model, const SessionOptions& options, ValueId value);

/// The original graph and the optimized one, each created on first use. Threads: one at a time.
class SessionGraphs {
 public:
  /// `options` outlives this. `drop` is called for a graph that is dropped, and for one whose
  /// tensors move: its plans and executions become invalid. Throws Failure if variables cannot be
  /// initialized.
  SessionGraphs(Host::Impl& host, std::shared_ptr<const GraphSnapshot> original,
                const SessionOptions& options, std::function<void(const SessionGraph&)> drop);

  /// The graph to run now: the optimized one, unless the application may have changed constants
  /// that went into it.
  SessionGraph& up_to_date() {
    if (!sources_.empty() && (sources_exposed_ || versions_ != TrackedTensor::all_versions()))
        [[unlikely]]
      update();
    return optimized_ != nullptr && !sources_exposed_ ? *optimized_ : original();
  }
  SessionGraph& original();
  bool is_optimized(const SessionGraph& graph) const { return &graph == optimized_.get(); }

  /// The graphs created so far.
  std::vector<SessionGraph*> all() const;
  /// The graph that ran last; its tensors have the current variables and states. A request that is
  /// refused does not change it.
  SessionGraph& last() const { return *last_; }
  /// The value's tensor in a run of this graph: variables and states that the graph has not adopted
  /// yet are those of last().
  const Tensor& tensor_of(const SessionGraph& graph, ValueId value) const;

  /// Makes a graph the running one: it adopts the current variables and states. The destructor
  /// undoes this unless commit() was called.
  class Change {
   public:
    Change(SessionGraphs& graphs, SessionGraph& next) : graphs_(graphs), next_(next) {
      if (&next != graphs.last_) [[unlikely]]
        adopt();
    }
    ~Change() {
      if (pending_) [[unlikely]]
        undo();
    }
    Change(const Change&) = delete;
    Change& operator=(const Change&) = delete;

    /// Whether memory that the graph's executions use is replaced: commit() drops its plans.
    bool moves() const { return moves_; }
    void commit() {
      if (pending_) [[unlikely]]
        finish();
    }

   private:
    void adopt();
    void undo() noexcept;
    void finish();

    SessionGraphs& graphs_;
    SessionGraph& next_;
    bool pending_ = false, moves_ = false;
    TensorTable before_;  // of next_; empty unless pending
  };

  /// The original graph's model, whose names and value ids are valid for both.
  const GraphModel& model() const { return snapshot_->model; }
  const std::shared_ptr<const GraphSnapshot>& snapshot() const { return snapshot_; }
  /// Variables that got random values; cleared by the caller.
  std::vector<ValueId> random_variables;

 private:
  void update();
  void optimize();

  Host::Impl& host_;
  const SessionOptions& options_;
  const std::function<void(const SessionGraph&)> drop_;
  const std::shared_ptr<const GraphSnapshot> snapshot_;  // with composed operators expanded
  TensorTable first_tensors_;                            // until the first graph takes them
  std::unique_ptr<SessionGraph> original_,
      optimized_;  // optimized_: null if there is nothing to optimize
  SessionGraph* last_ = nullptr;
  std::vector<std::pair<ValueId, std::uint64_t>>
      sources_;                   // constants that optimized_ may depend on, and their versions
  std::uint64_t versions_ = 0;    // TrackedTensor::all_versions() at the last check
  bool sources_exposed_ = false;  // the application has handles of sources and may write to them
};

}  // namespace tenon

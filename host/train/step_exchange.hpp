// Combines the results of a step from all processes: gradients, states, and the metrics of its
// batches.
#pragma once
#include <cstdint>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <tenon/host/evaluator.hpp>
#include <tenon/host/micro_batches.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/trainer.hpp>
#include <vector>

#include "train/gradient_buckets.hpp"
#include "train/processes.hpp"
#include "train/step_state_backup.hpp"
#include "train/training_graphs.hpp"

namespace tenon {

/// The result of a range of consecutive micro-batches.
struct MicroBatchSum {
  NamedTensors gradients;
  std::vector<Tensor> states;  // sums of floating-point ones, on the CPU; empty if a single process
                               // has the step's only micro-batch
  std::vector<Evaluation> batches;  // in the step's order
};

/// For steps with several micro-batches that are distributed over processes. Constructor arguments
/// outlive it. Threads: one at a time; all processes make the same calls.
class StepExchange {
 public:
  StepExchange(Processes& processes, Host& host, const std::vector<TrainedVariable>& trained,
               const Graph& forward, const StepStateBackup& states, std::string device);

  /// The memory in which dense gradients are added on the CPU, from the second step on: results
  /// computed there need no copy. Empty before, and on a GPU.
  const NamedTensors& destinations() const { return destinations_; }
  /// To be called before a run that computes this process's gradients of a step: gradients in
  /// destinations() for which ready() is called are added while the run continues. Threads of
  /// ready(): any.
  void begin(std::int64_t micro_batches) { buckets_.begin(micro_batches); }
  void ready(const std::string& name) { buckets_.ready(name); }

  /// The micro-batches of this process: [begin, end).
  struct Range {
    std::int64_t begin, end;
  };
  Range own(std::int64_t micro_batches) const;

  /// The sum of all micro-batches of all processes. `own`: the sum of this process; empty if it has
  /// none, or if it failed with `failure`. All processes throw the failure of the first process
  /// that failed.
  MicroBatchSum join(std::optional<MicroBatchSum> own, std::exception_ptr failure,
                     std::int64_t micro_batches);

  /// The first non-empty text in rank order; the same in all processes.
  std::string first_of(const std::string& own);

  bool requests_stop = false;  ///< sent to the other processes by the next join()
  bool stops = false;          ///< whether any process requested it at the last join()

 private:
  struct Gradient {
    Storage storage = Storage::dense;
    std::int64_t stored = 0;
  };
  /// The message of each process to the others before they add.
  struct Account {
    bool has_micro_batches = false, stops = false;
    std::vector<Evaluation> batches;
    std::vector<Gradient> gradients;  // in the order of their names
  };

  std::string write(const MicroBatchSum* own, const std::exception_ptr& failure) const;
  static Account read(const std::string& text, int rank);
  void require_alike(const std::vector<Account>& accounts, const NamedTensors& gradients) const;
  std::exception_ptr other_storages(const NamedTensors& gradients) const;
  MicroBatchSum nothing(const std::vector<Gradient>& like) const;
  void lay_out(const NamedTensors& gradients);
  void add_dense(NamedTensors& gradients, std::int64_t micro_batches);
  Tensor add_rows(const Tensor& own, const std::vector<std::int64_t>& rows,
                  const MicroBatchOwners& owners, std::int64_t micro_batches);
  void add_states(std::vector<Tensor>& states, std::int64_t micro_batches, bool own);

  Processes& processes_;
  Host& host_;
  const Graph& forward_;
  const StepStateBackup& states_;
  std::string device_;  // of gradients that this process does not compute
  std::map<std::string, std::string>
      variables_;                   // by gradient name: one of the variables that have it
  std::vector<std::string> order_;  // names of gradients, in the order of the backward pass
  GradientBuckets buckets_;
  NamedTensors destinations_;
};

}  // namespace tenon

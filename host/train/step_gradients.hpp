// Computes the gradients, loss and correct predictions of a step: runs its batches one after the
// other and adds the results per micro-batch.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tenon/host/evaluator.hpp>
#include <tenon/host/host.hpp>
#include <tenon/host/prepared_call.hpp>
#include <tenon/host/session.hpp>
#include <tenon/host/trainer.hpp>
#include <vector>

#include "train/batches.hpp"
#include "train/step_exchange.hpp"
#include "train/step_state_backup.hpp"
#include "train/training_graphs.hpp"

namespace tenon {

/// A floating-point tensor with all elements equal to `value`.
Tensor filled(DType dtype, const Shape& shape, double value);

/// Session, graph, options and states outlive it. Threads: one at a time.
class StepGradients {
 public:
  /// `count` examples of the source from position `begin` of the epoch, at most `max_batch` in a
  /// batch; the step's number is for messages.
  struct Examples {
    std::uint64_t step = 0, epoch = 0;
    std::int64_t begin = 0, count = 0, max_batch = 0;
  };

  /// `exchange`: with the other processes; null if there are none.
  StepGradients(Session& session, const GradientGraph& gradient_graph,
                const TrainerOptions& options, const StepStateBackup& states,
                StepExchange* exchange);

  /// The sums of losses and correct predictions over all processes. Every micro-batch begins with
  /// the states of StepStateBackup::save(). Throws Failure.
  Evaluation find(Batches& source, const Examples& examples);
  /// The gradients of the last step; empty before the first.
  const NamedTensors& gradients() const { return gradients_; }

 private:
  MicroBatchSum run_micro_batches(Batches& source, const Examples& examples,
                                  std::int64_t micro_batches, StepExchange::Range own);
  MicroBatchSum run_own_micro_batches(Batches& source, const Examples& examples,
                                      std::int64_t micro_batches);
  MicroBatchSum run_micro_batch(Batches& source, const Examples& examples, std::int64_t micro_batch,
                                NamedTensors& memory);
  void run_batch(MicroBatchSum& sum, NamedTensors batch, const Examples& examples,
                 const NamedTensors& memory, bool adds_early);
  std::string why_not_finite();
  void accumulate(NamedTensors& sums, const NamedTensors& outputs) const;
  void add(MicroBatchSum& left, const MicroBatchSum& right);
  void add(const std::string& name, Tensor& left, const Tensor& right);
  std::string not_finite(const NamedTensors& sums) const;

  Session& session_;
  const GradientGraph& gradient_graph_;
  const TrainerOptions& options_;
  const StepStateBackup& states_;
  StepExchange* exchange_;
  std::vector<NamedTensors> memory_;  // of dense gradients, for each slot of the summation tree
  std::map<std::string, PreparedCall> additions_;
  NamedTensors gradients_;
  std::uint64_t random_step_ = 0;   // of the step's first batch
  std::int64_t micro_batches_ = 1;  // of the step
  bool adds_early_ = false;         // this process's only micro-batch is added while it is computed
  NamedTensors last_batch_;
};

}  // namespace tenon

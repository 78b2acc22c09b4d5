// Trains a graph: gradients, an optimizer for each variable, batches, checkpoints.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tenon/host/api.hpp>
#include <tenon/host/failure.hpp>
#include <tenon/host/operator_info.hpp>
#include <tenon/host/plan_info.hpp>
#include <tenon/host/schedule.hpp>
#include <tenon/host/session.hpp>
#include <vector>

namespace tenon {

struct TrainerOptions {
  std::string loss;                ///< an output or value with one floating element, the mean over a batch
  std::string optimizer = "adam";  ///< an operator of any plugin with the inputs weight, grad and learning_rate
  Attributes parameters;           ///< of the optimizer
  Schedule schedule;               ///< total 0: the steps of `epochs`
  std::uint64_t epochs = 10;       ///< used by the schedule only
  std::int64_t batch = 64;         ///< examples
  std::int64_t accumulate = 1;     ///< batches of a lane; their gradients are averaged, weighted by their numbers of examples
  /// A step has lanes * accumulate batches. Each lane takes `accumulate` of them, in the order of the epoch, and adds their gradients in
  /// that order; lanes are added by a balanced tree, which splits at the largest power of two. Every lane begins with the same states;
  /// after the step floating ones are the lanes' means. So lanes can be computed apart without a bit that changes. The last step of an
  /// epoch fills the first lanes, and has no others.
  std::int64_t lanes = 1;
  /// The processes that a launcher such as mpirun started train as one, by operators of the plugin comm: each has some of the lanes, which
  /// are at least as many, and all end with the bits that one process would have. All make the same calls of the trainer, with the same
  /// arguments; where one fails, all throw SharedFailure. Without a launcher: one process.
  bool distributed = false;
  double comm_timeout = 300;           ///< seconds that a process waits for another one before it fails
  std::uint64_t check_replicas = 100;  ///< steps after which the processes' variables are compared; 0: never
  double clip_norm = 0;                ///< largest norm of all gradients together; 0: no limit
  /// Bytes for the values of one batch. If that is too little to keep them all, some are recomputed. 0: no limit.
  std::int64_t memory_budget = 0;
  bool shuffle = true;        ///< a new order of the examples in each epoch
  std::uint64_t seed = 0;     ///< of first values, shuffling and random operators
  std::string scores, label;  ///< for accuracy: an output [examples, classes] and an integer input [examples]; or neither
  /// As in SessionOptions; the optimizer's nodes run there, too. Variables, gradients and the optimizer's states stay on the device during
  /// training; each batch is copied to it once, and the loss and the scores are copied back.
  std::string device;
  bool capture = true;    ///< as in SessionOptions
  DType precision = f32;  ///< as in SessionOptions; variables, gradients and the optimizer's states stay f32
};

struct Metrics {
  double loss = 0;                 ///< mean over the examples
  std::optional<double> accuracy;  ///< share of right answers, if scores and label are named
};

/// What one of several processes threw, or what they disagree on, in all of them.
class TENON_API SharedFailure : public Failure {
 public:
  using Failure::Failure;
};

struct StepReport {
  Metrics metrics;
  std::uint64_t step = 0;  ///< the first is 1
  std::uint64_t epoch = 0;
  std::int64_t examples = 0;
  double rate = 0;
  bool stop = false;  ///< of several processes, one wants to stop: Trainer::ask_to_stop()
};

/// Trains a copy of a graph. The same graph, data, options and seed give the same bits on any number of threads, whether or not the
/// training was stopped and resumed in between; on another device, its kernels may round differently, but the random numbers are the same.
/// row_sparse gradients (embedding with sparse_grad, matmul of csr) are summed, clipped and applied as such if the optimizer has a kernel
/// for them: time and memory then depend on the rows that a batch uses. Threads: one at a time.
class TENON_API Trainer {
 public:
  /// Does not change the graph. data: one tensor for each input, dense or csr, whose first dimension counts the examples. Throws Failure.
  Trainer(const Graph& graph, NamedTensors data, TrainerOptions options);
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  /// One update of the variables. Throws Failure (failed) if the loss or a gradient is NaN or infinite, with the node that produced it
  /// first. After this, and after any failure before the update begins, variables and states have the values from before the step, so that
  /// they can be saved. If the update itself fails, some variables may be new and others not: save_checkpoint() and graph() then refuse.
  StepReport step();

  /// The same with a batch of your own, however many examples it has: one tensor for each input, as the constructor takes them. It is one
  /// batch: the options batch, accumulate, lanes and memory_budget do not split it. The place in the trainer's own data stays where it is,
  /// and random numbers follow from the number of steps, so that checkpoints resume as always if you go on with the same batches. If all
  /// your steps bring their batch, one example is enough for the constructor. Throws Failure for a batch of other types, before anything
  /// changes.
  StepReport step(NamedTensors batch);

  /// Loss and accuracy on other data, with the graph running as outside of training.
  Metrics evaluate(const NamedTensors& data);

  /// Which of the processes that train together this is, and how many there are; 0 and 1 where it trains alone.
  int rank() const;
  int processes() const;
  /// Of several processes: the next step's report says `stop` in all of them, so that none waits for one that has stopped. Threads: any.
  void ask_to_stop();

  std::uint64_t steps() const;    ///< so far
  std::uint64_t epoch() const;    ///< of the next step; the first is 0
  std::int64_t position() const;  ///< examples of that epoch that have been used
  std::int64_t examples() const;  ///< in one epoch
  std::uint64_t steps_per_epoch() const;

  /// The trained graph, with copies of its current variables and states.
  Graph graph() const;
  /// True: a step that fails changes nothing, its update included. For programs written for 0.1.
  bool can_be_saved() const;
  /// Writes a .tenon file, completely or not at all, from which resume() continues on any device. The file also runs like any other graph.
  /// Throws Failure (failed) if it cannot be written.
  void save_checkpoint(const std::filesystem::path& path) const;
  /// Continues from a checkpoint. Throws Failure: (file) if it has no training state or belongs to another graph or other data, (usage) if
  /// its seed, optimizer or the optimizer's parameters differ. Other options that differ are warned of, one by one.
  void resume(const std::filesystem::path& path);

 private:
  struct TENON_HIDDEN Impl;
  std::unique_ptr<Impl> impl_;
};

/// What an optimizer's manifest says, its parameters among it. Throws Failure, with similar names in the hint: (plugin) if there is no
/// operator of that name, (usage) if it is not an optimizer.
TENON_API std::shared_ptr<const OperatorInfo> find_optimizer(Host& host, const std::string& name);

/// The graph that a training runs for each batch: the loss, the scores and the gradients of the variables. For looking at it and at its
/// plan; only the shapes of `batch` count. Throws Failure as a Trainer does.
TENON_API Graph training_graph(const Graph& graph, const NamedTensors& batch, const TrainerOptions& options);

/// Dense gradients that processes that train together add as one.
struct PlannedBucket {
  std::vector<std::string> variables;  ///< whose gradients they are
  DType dtype = unknown_dtype;
  std::int64_t bytes = 0;
  std::size_t steps = 0;  ///< of the plan that have run when all of them are complete
};
/// The buckets of a training_graph(), for so many processes, in the order in which they are added, with their moments in its plan.
/// Variables whose gradient is sparse have none: what is sent of those is known when it is there.
TENON_API std::vector<PlannedBucket> planned_buckets(const Graph& training, const PlanInfo& plan, int processes);

}  // namespace tenon

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

#pragma GCC diagnostic push  // copies of the options copy the deprecated one
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct TrainerOptions {
  std::string loss;  ///< an output or value with one floating element, the mean over a batch
  std::string optimizer =
      "adam";  ///< an operator of any plugin with the inputs weight, grad and learning_rate
  Attributes parameters;      ///< of the optimizer
  Schedule schedule;          ///< total 0: the steps of `epochs`
  std::uint64_t epochs = 10;  ///< used by the schedule only
  std::int64_t batch = 64;    ///< number of examples
  /// batches in a micro-batch; their gradients are averaged, weighted by their numbers of examples
  std::int64_t accumulate = 1;
  /// Micro-batches of a step, which has micro_batches * accumulate batches. Each micro-batch takes
  /// `accumulate` of them, in the order of the epoch, and adds their gradients in that order; a
  /// balanced tree, which splits at the largest power of two, adds the micro-batches. Every
  /// micro-batch starts with the same states; after the step, floating states are the mean over the
  /// micro-batches. Micro-batches can therefore be computed in different processes with
  /// bit-identical results. The last step of an epoch fills the first micro-batches, and has no
  /// others.
  std::int64_t micro_batches = 1;
  /// used if micro_batches is 1
  [[deprecated("use micro_batches; until 0.4")]] std::int64_t lanes = 1;
  /// The processes started by a launcher such as mpirun train as one, by operators of the plugin
  /// comm: each computes some of the micro-batches, of which there are at least as many as
  /// processes, and all end with the bits that one process would have. All must make the same calls
  /// of the trainer with the same arguments; if one fails, all throw SharedFailure. Without a
  /// launcher: one process.
  bool distributed = false;
  double comm_timeout = 300;  ///< seconds that a process waits for another one before it fails
  std::uint64_t check_replicas =
      100;               ///< steps after which the processes' variables are compared; 0: never
  double clip_norm = 0;  ///< maximum norm of all gradients together; 0: no limit
  /// Bytes for the values of one batch. If they do not suffice, some values are recomputed. 0: no
  /// limit.
  std::int64_t memory_budget = 0;
  bool shuffle = true;        ///< a new order of the examples in each epoch
  std::uint64_t seed = 0;     ///< seed for initial values, shuffling and random operators
  std::string scores, label;  ///< for accuracy: an output [examples, classes] and an integer input
                              ///< [examples]; or neither
  /// As in SessionOptions; the optimizer's nodes run there, too. Variables, gradients and the
  /// optimizer's states stay on the device during training; each batch is copied to it once, and
  /// the loss and the scores are copied back.
  std::string device;
  bool capture = true;  ///< as in SessionOptions
  DType precision =
      f32;  ///< as in SessionOptions; variables, gradients and the optimizer's states stay f32
};
#pragma GCC diagnostic pop

struct Metrics {
  double loss = 0;                 ///< mean over the examples
  std::optional<double> accuracy;  ///< share of correct predictions, if scores and label are set
};

/// A failure of one of several processes, or a disagreement between them, thrown in all of them.
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
  /// in distributed training, one process requested to stop: Trainer::request_stop()
  bool stop = false;
};

/// Trains a copy of a graph. The same graph, data, options and seed give the same bits on any
/// number of threads, whether or not the training was stopped and resumed; on another device,
/// kernels may round differently, but the random numbers are the same. row_sparse gradients
/// (embedding with sparse_grad, matmul of csr) are summed, clipped and applied in that storage if
/// the optimizer has a kernel for it: time and memory then depend on the rows that a batch uses.
/// Threads: one at a time.
class TENON_API Trainer {
 public:
  /// Does not change the graph. data: a tensor for each input, dense or csr, whose first dimension
  /// is the number of examples. Throws Failure.
  Trainer(const Graph& graph, NamedTensors data, TrainerOptions options);
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  /// Performs one update of the variables. Throws Failure (failed) if the loss or a gradient is NaN
  /// or infinite, with the node that produced it first. After any failure, variables and states
  /// have their values from before the step, and the next step may be taken.
  StepReport step();

  /// Like step(), with a batch of your own of any number of examples: a tensor for each input, as
  /// the constructor takes them. It is one batch: the options batch, accumulate, micro_batches and
  /// memory_budget do not split it. The position in the trainer's own data does not change, and
  /// random numbers follow from the number of steps, so that checkpoints resume as usual if you
  /// continue with the same batches. If all your steps bring their own batch, one example is enough
  /// for the constructor. Throws Failure for a batch of other types, before anything changes.
  StepReport step(NamedTensors batch);

  /// Loss and accuracy on other data. The graph runs as outside of training.
  Metrics evaluate(const NamedTensors& data);

  /// The index of this process among those that train together, and their number; 0 and 1 for a
  /// single process.
  int rank() const;
  int processes() const;
  /// In distributed training: the next step's report sets `stop` in all processes, so that none
  /// waits for one that has stopped. Threads: any.
  void request_stop();
  [[deprecated("use request_stop(); until 0.4")]] void ask_to_stop() { request_stop(); }

  std::uint64_t steps() const;    ///< the number of steps so far
  std::uint64_t epoch() const;    ///< of the next step; the first is 0
  std::int64_t position() const;  ///< examples of that epoch that have been used
  std::int64_t examples() const;  ///< examples in one epoch
  std::uint64_t steps_per_epoch() const;

  /// The trained graph, with copies of its current variables and states.
  Graph graph() const;
  /// Always true: a step that fails changes nothing, including its update. For programs written for
  /// 0.1.
  bool can_be_saved() const;
  /// Writes a .tenon file atomically, from which resume() continues on any device. The file can
  /// also be run like any other graph. Throws Failure (failed) if it cannot be written.
  void save_checkpoint(const std::filesystem::path& path) const;
  /// Continues from a checkpoint. Throws Failure: (file) if it has no training state or belongs to
  /// another graph or other data, (usage) if its seed, optimizer or the optimizer's parameters
  /// differ. A checkpoint that is refused changes nothing. Warns about each other option that
  /// differs.
  void resume(const std::filesystem::path& path);

 private:
  struct TENON_HIDDEN Impl;
  std::unique_ptr<Impl> impl_;
};

/// The manifest of an optimizer, including its parameters. Throws Failure, with similar names in
/// the hint: (plugin) if there is no operator of that name, (usage) if it is not an optimizer.
TENON_API std::shared_ptr<const OperatorInfo> find_optimizer(Host& host, const std::string& name);

/// The graph that a training runs for each batch: the loss, the scores and the gradients of the
/// variables. For inspecting it and its plan; only the shapes of `batch` matter. Throws Failure as
/// a Trainer does.
TENON_API Graph training_graph(const Graph& graph, const NamedTensors& batch,
                               const TrainerOptions& options);

/// Dense gradients that are added across processes together.
struct PlannedBucket {
  std::vector<std::string> variables;  ///< the variables of the gradients
  DType dtype = unknown_dtype;
  std::int64_t bytes = 0;
  /// steps of the plan that have run when all of the gradients are complete
  std::size_t steps = 0;
};
/// The buckets of a training_graph() for this number of processes, in the order in which they are
/// added, with their positions in its plan. Variables with sparse gradients have none: what is sent
/// for those is known only at run time.
TENON_API std::vector<PlannedBucket> planned_buckets(const Graph& training, const PlanInfo& plan,
                                                     int processes);

}  // namespace tenon

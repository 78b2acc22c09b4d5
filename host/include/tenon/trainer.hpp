// Trains a graph: gradients, an optimizer for each variable, batches, checkpoints.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tenon/schedule.hpp>
#include <tenon/session.hpp>

namespace tenon {

struct TrainerOptions {
  std::string loss;                ///< an output or value of one floating element, the mean over a batch's examples
  std::string optimizer = "adam";  ///< an operator with the inputs weight, grad and learning_rate, of any plugin
  Attributes parameters;           ///< of the optimizer
  Schedule schedule;               ///< total 0: the steps of `epochs`
  std::uint64_t epochs = 10;       ///< for the schedule alone
  std::int64_t batch = 64;
  std::int64_t accumulate = 1;  ///< batches whose gradients are averaged, by their numbers of examples, for one step
  double clip_norm = 0;         ///< largest norm of all gradients together; 0: none
  /// Bytes for the values of one batch; where it is too little to keep them all, some are computed again. 0: no limit.
  std::int64_t memory_budget = 0;
  bool shuffle = true;
  std::uint64_t seed = 0;     ///< of first values, shuffling and random operators
  std::string scores, label;  ///< an output [examples, classes] and an integer input [examples] to count right answers by; or neither
  /// Where the nodes run, the optimizer's too: `cpu`, `cuda`; empty: cpu. Variables, gradients and the optimizer's states stay there during
  /// training; each batch goes there once, and the loss and the scores come back.
  std::string device;   ///< as SessionOptions has it
  bool capture = true;  ///< the same
};

struct Metrics {
  double loss = 0;                 ///< mean over the examples
  std::optional<double> accuracy;  ///< share of right answers, where scores and label are named
};

struct StepReport {
  Metrics metrics;
  std::uint64_t step = 0;  ///< the first is 1
  std::uint64_t epoch = 0;
  std::int64_t examples = 0;
  double rate = 0;
};

/// The same graph, data, options and seed give the same bits, on any number of threads, and whether a training was stopped and resumed in
/// between or not. On another device they give the numbers of its kernels, from the same random numbers. Gradients that the graph makes
/// row_sparse (embedding with sparse_grad, matmul of csr) are summed, clipped and applied as such, in time and memory of what their batches
/// touch, where the optimizer has a kernel for them. Threads: one at a time.
class Trainer {
 public:
  /// The graph is left as it is. data: one tensor for each input, dense or csr, the first dimension counting the examples. Throws Failure.
  Trainer(const Graph& graph, NamedTensors data, TrainerOptions options);
  ~Trainer();
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;

  /// One update of the variables. Throws Failure (failed) where the loss or a gradient becomes NaN or infinite, with the node that first
  /// made it; the variables are then as they were before the step.
  StepReport step();

  /// As the graph runs outside of training.
  Metrics evaluate(const NamedTensors& data);

  std::uint64_t steps() const;    ///< so far
  std::uint64_t epoch() const;    ///< that the next step belongs to; the first is 0
  std::int64_t position() const;  ///< examples of that epoch that were seen
  std::int64_t examples() const;  ///< of one epoch
  std::uint64_t steps_per_epoch() const;

  /// The graph with a copy of its variables and states as they are now.
  Graph graph() const;
  /// A .tenon file that resume() goes on from, on any device; it runs as every other, too. Whole or not at all.
  void save_checkpoint(const std::filesystem::path& path) const;
  /// Goes on where the checkpoint stands. Throws Failure: (file) for one that is none or of another graph or data, (usage) for one of
  /// another seed, optimizer or parameters.
  void resume(const std::filesystem::path& path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon

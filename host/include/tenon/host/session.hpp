// Sessions: run a graph many times.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <tenon/host/api.hpp>
#include <tenon/host/graph.hpp>
#include <tenon/host/optimize.hpp>
#include <tenon/host/plan_info.hpp>
#include <tenon/host/tensor.hpp>

namespace tenon {

#pragma GCC diagnostic push  // copies of the options copy the deprecated one
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct SessionOptions {
  /// Seed for random operators and for uninitialized variables; a session without `training` warns
  /// about the latter. The same seed gives the same numbers on any number of threads.
  std::uint64_t seed = 0;
  /// run in training mode: dropout drops, states change, variables are updated
  bool training = false;
  /// The device of nodes without a device of their own: `cpu`, `cuda`, `cuda:1`; empty: cpu. Nodes
  /// whose operator has no kernel for it run on the CPU; HostOptions::warn is then called with the
  /// reason and the copies.
  std::string device{};
  /// Path of a trace in Chrome's format, with a process for each device and a thread for each of
  /// its streams; empty: no trace. Each run that succeeds appends its steps, after those of the
  /// last run that failed before it, and leaves a complete file. Tracing waits for each step, which
  /// slows down runs.
  std::filesystem::path trace{};
  /// Measure each node for times(). As with a trace, each step is waited for, which slows down
  /// runs.
  bool profile = false;
  [[deprecated("it has no effect: steps run one after the other; until 0.4")]] bool parallel = true;
  /// On GPUs, capture consecutive capturable kernels as CUDA graphs in the second run of a plan,
  /// and launch these in later runs. False: every run launches each kernel.
  bool capture = true;
  /// The maximum number of cached plans, each for a combination of input types, devices and
  /// outputs. The least recently used plan is evicted, and made again when needed. Plans share the
  /// memory of the one that needs most.
  int plans = 64;
  /// The maximum estimated bytes of all cached plans together, excluding the memory of their values
  /// and constants. Evicts in the same order, but never the newest plan.
  std::uint64_t plan_memory = std::uint64_t{256} << 20;
  bool keep_on_device =
      false;  ///< leave outputs on the device that computed them; default: copy them to the CPU
  /// Before each kernel on the CPU, fill workspace and dense outputs with NaN, or with unlikely
  /// integers, and throw Failure (failed) with the node and the output if elements are unchanged
  /// after it. Runs then take two more passes over all outputs. Cannot be combined with `trace`.
  bool debug = false;
  /// The allowed optimizations of the graph. They do not affect random numbers and the names of
  /// nodes and outputs.
  Optimize optimize = Optimize::full;
  /// f32 or bf16. bf16: products and convolutions of f32 round their factors to bfloat16 and
  /// accumulate in f32, if their kernels and the machine support it, see PlannedStep::variant.
  /// Everything else, including trained weights, stays f32. Throws Failure (usage) if no node
  /// supports it.
  DType precision = f32;
  /// Kernels may cache packed weights and constants, unless `optimize` is `none`. If this is false,
  /// they do so only for elements that cannot be written: those of files and generated ones, those
  /// of borrow_read_only(), and those of tensors to which the application has neither a handle nor
  /// a writable pointer any more. True: the application promises not to change any weight or
  /// constant while the session exists, including borrowed memory and the memory of its own
  /// tensors.
  bool constant_weights = false;
};
#pragma GCC diagnostic pop

using NamedTensors = std::map<std::string, Tensor>;  ///< sorted by name; Graph::outputs() and
                                                     ///< run_in_order() have the graph's order

/// The times of a node, summed over all runs of a session.
struct NodeTime {
  std::string node, op;  ///< op: including its role, as in `matmul backward`
  std::string device;
  std::uint64_t calls = 0;
  double seconds = 0;
  double least = 0;             ///< seconds of the shortest call
  double bytes = 0, flops = 0;  ///< sums over all calls: bytes read and written; operations, 0 if
                                ///< the operator does not report them
  /// of the last run: seconds from its start to the node's start, and the node's duration
  double begin = 0, last = 0;
};

/// The memory for an output of a run: a contiguous tensor with the output's dtype and shape. Not
/// for sparse outputs, whose size is unknown before the run.
struct Destination {
  Tensor tensor;
  /// to (overwrite), or add: add to the existing elements, such as gradients of earlier batches
  Write write = Write::to;
};
using Destinations = std::map<std::string, Destination>;

#pragma GCC diagnostic push  // copies of the options copy the deprecated one
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct RunOptions {
  /// The outputs to compute; empty: all. Only the nodes that they need run, and only the inputs
  /// that they need are required. In training, such a run updates only the variables that are
  /// listed here, and changes only the states of nodes that run.
  std::vector<std::string> outputs{};
  Destinations destinations{};  ///< for some outputs; the others are newly allocated
  /// Checked before each node; a stopped run throws Failure (failed). Like any failed run, it
  /// changes no states, no variables and no destinations with `add`, and does not count as a run.
  std::stop_token stop{};
  /// Called with the name of an output that has a destination, as soon as no later node of the run
  /// writes it, by the thread that executes the run: to overlap work with the rest of the run, such
  /// as sending the output. Must not throw. Outputs for which it was not called, namely those
  /// stored elsewhere first, are complete when the run returns.
  std::function<void(const std::string&)> on_output_ready{};
  /// used if on_output_ready is empty
  [[deprecated("use on_output_ready; until 0.4")]] std::function<void(const std::string&)>
      finished{};
};
#pragma GCC diagnostic pop

/// Binds a graph once, makes a plan for each combination of input shapes, storages and devices,
/// caches the latest plans, and runs them. Inputs may be on any device. A session never changes its
/// graph, and later edits of the graph do not affect the session. It has its own copies of what
/// runs change: states, and in training the variables that the graph updates. A failed run leaves
/// these, and the plans for other inputs, intact. Everything else is shared with the graph.
/// Variables, states and constants that a GPU reads are copied there when the session is created.
/// Threads: one at a time per session, a concurrent call gets a Failure; different sessions of one
/// graph may run concurrently. A session keeps alive what it needs of its graph and Host.
class TENON_API Session {
 public:
  explicit Session(const Graph& graph, SessionOptions options = {});
  /// Takes ownership of the graph and avoids a copy if this is its only handle:
  /// `Session(Graph::load(host, path))`.
  explicit Session(Graph&& graph, SessionOptions options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Runs the graph on inputs by name and returns outputs by name. Inputs may have any storage; an
  /// output has the storage that its operator chose. Throws Failure for missing, unknown or
  /// mismatched inputs before anything runs, and for errors of kernels.
  NamedTensors run(const NamedTensors& inputs) { return run(inputs, RunOptions{}); }
  NamedTensors run(const NamedTensors& inputs, const RunOptions& options);
  NamedTensors run(const NamedTensors& inputs, const Destinations& destinations) {
    return run(inputs, RunOptions{.destinations = destinations});
  }

  /// Computes all outputs, by position instead of by name, for small runs: `inputs` in the order of
  /// Graph::inputs(), `outputs` in that of Graph::outputs(). An empty output is allocated; any
  /// other must be dense and contiguous, with the output's dtype and shape, and is overwritten.
  /// Returns whether inputs of these types always give outputs of these types. Throws Failure as
  /// run() does, and (usage) for wrong numbers of tensors.
  bool run_in_order(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                    const std::stop_token& stop = {});

  /// The plan for inputs of these shapes (others have their declared shapes), on the CPU: the steps
  /// in order, their devices, and the memory layout. Allocates and runs nothing. Throws Failure,
  /// (usage) for a name that is not an input.
  PlanInfo plan(const std::map<std::string, Shape>& shapes);
  /// describe() of the plan: a line for each step.
  std::string describe_plan(const std::map<std::string, Shape>& shapes);
  /// bytes() of the plan: the memory needed besides inputs, variables and outputs.
  std::int64_t plan_bytes(const std::map<std::string, Shape>& shapes);

  /// Recomputes the last run node by node and returns the first input, variable, state or node with
  /// a NaN or an infinity: `[log] node 'x': element 3 is nan`; empty if all values are finite.
  /// Updates nothing.
  std::string first_non_finite(const NamedTensors& inputs);

  std::uint64_t step() const;         ///< the number of runs so far, on which random numbers depend
  void set_step(std::uint64_t step);  ///< as if this many runs had been made
  /// False if the trace lacks a run because the file could not be written. Such a run still returns
  /// its results.
  bool trace_complete() const;
  /// With SessionOptions::profile: the times of each node that ran, the longest first. Failed runs
  /// count up to the failure.
  std::vector<NodeTime> times() const;
  void clear_times();  ///< resets times(): kernels prepare in first runs, which take longer

  /// The current elements of a variable, state or constant, on the CPU; empty if it has none yet.
  /// Elements that runs change are copied. Throws Failure (usage) for an input, a node's output, or
  /// a value of another graph.
  Tensor tensor(Value value) const;
  Tensor tensor(std::string_view name) const;
  /// An independent copy of the session's graph with its current elements, such as trained
  /// variables.
  Graph graph() const;
  /// The optimized graph that the session executes instead (SessionOptions::optimize). The name of
  /// a fused step is composed of its nodes' names; values computed once are constants. Composed
  /// operators are replaced by their nodes.
  Graph optimized() const;

  struct TENON_HIDDEN Impl;

 private:
  friend struct ImplAccess;  // the host's own code
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon

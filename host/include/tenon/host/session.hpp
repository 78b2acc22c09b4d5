// Runs a graph many times.
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

struct SessionOptions {
  /// Of random operators, and of variables that have no values yet: a session without `training` warns of those. The same seed gives the
  /// same numbers on any number of threads.
  std::uint64_t seed = 0;
  bool training = false;  ///< run as in training: dropout drops, states change, variables are updated
  /// The device of nodes that name none: `cpu`, `cuda`, `cuda:1`; empty: cpu. Nodes whose operator has no kernel for it run on the CPU;
  /// HostOptions::warn is then called with the reason and the copies.
  std::string device{};
  /// Path of a trace in Chrome's format, with a process for each device and a thread for each of its streams; empty: none. Each run appends
  /// its steps and leaves a complete file. Tracing waits for each step, which makes runs slower.
  std::filesystem::path trace{};
  /// Measure each node for times(). As with a trace, each step is waited for, which makes runs slower.
  bool profile = false;
  /// On GPUs, the second run of a plan captures consecutive capturable kernels as CUDA graphs, and later runs launch these. False: every
  /// run launches each kernel.
  bool capture = true;
  /// Plans that are kept, each for a combination of input types, devices and outputs; the one not used for the longest time goes first, and
  /// is made again when it is needed. They share the memory of the one that needs most.
  int plans = 64;
  /// Bytes that these plans may take together, by an estimate, without the memory of their values and without constants: the same go first.
  /// The newest stays, whatever it takes.
  std::uint64_t plan_memory = std::uint64_t{256} << 20;
  bool keep_on_device = false;  ///< leave outputs on the device that computed them; default: copy them to the CPU
  /// Fill workspace and dense outputs with NaN, or with unlikely integers, before each kernel on the CPU, and throw Failure (failed) with
  /// the node and the output if elements are the same after it. Runs then take two more passes over all outputs. Not together with `trace`.
  bool debug = false;
  /// What may be done to the graph before it runs. Random numbers and the names of nodes and outputs are the same whatever it is.
  Optimize optimize = Optimize::full;
  /// f32, or bf16: products and convolutions of f32 round what they multiply to bfloat16, and add in f32, where their kernels and the
  /// machine can, see PlannedStep::variant. Everything else, weights that are trained among it, stays f32. Throws Failure (usage) where no
  /// node can.
  DType precision = f32;
  /// Kernels may keep what they make of weights and constants, such as packed ones, unless `optimize` is none. Without this they do so only
  /// where nobody can write the elements: those of files and generated ones, those of borrow_read_only(), and those of tensors of which the
  /// application has no handle any more, nor a pointer that it writes through. While it has one, kernels do without. True: the application
  /// changes no weight and no constant as long as the session lives, borrowed memory and memory of its own tensors included.
  bool constant_weights = false;
};

using NamedTensors = std::map<std::string, Tensor>;  ///< sorted by name; Graph::outputs() and run_in_order() have the graph's order

/// How long a node took, in all runs of a session together.
struct NodeTime {
  std::string node, op;  ///< op: with what it does there, as in `matmul backward`
  std::string device;
  std::uint64_t calls = 0;
  double seconds = 0;
  double least = 0;             ///< seconds of the shortest call
  double bytes = 0, flops = 0;  ///< of all calls: bytes of what was read and written; operations, 0 where the operator does not say them
  double begin = 0, last = 0;   ///< of the last run: seconds from the run's begin to the node's, and how long it took
};

/// Where a run writes an output: a contiguous tensor with the output's dtype and shape. Sparse outputs cannot have one, since their size is
/// not known before the run.
struct Destination {
  Tensor tensor;
  Write write = Write::to;  ///< to, or add: add to what is there, such as the gradients of earlier batches
};
using Destinations = std::map<std::string, Destination>;

struct RunOptions {
  /// The outputs to compute; empty: all. Only the nodes that they need run, and only the inputs that they need must be given. In training,
  /// such a run updates only the variables that are named here, and changes only the states of nodes that run.
  std::vector<std::string> outputs{};
  Destinations destinations{};  ///< for some outputs; the others are new tensors
  /// Checked before each node; a stopped run throws Failure (failed). As any run that fails, it changes no state, no variable and no
  /// destination that is added to, and does not count as a run.
  std::stop_token stop{};
  /// Called with the name of an output that goes to a destination, as soon as no later node of the run writes it, by the thread that runs:
  /// for work beside the rest of the run, such as sending it. It must not throw. Outputs that it was not called with are complete when the
  /// run returns: those that lie elsewhere first.
  std::function<void(const std::string&)> finished{};
};

/// Binds a graph once, makes a plan for each combination of input shapes, storages and devices, keeps the latest, and runs them. Inputs may
/// be on any device. A session never changes its graph, and later edits of the graph do not reach the session. It has its own copies of
/// what runs change: states, and in training the variables that the graph updates. A run that fails leaves all of that as it was, and the
/// plans of other inputs ready. The session shares everything else with the graph. Variables, states and constants that a GPU reads are
/// copied there when the session is created. Threads: one at a time per session, a second one gets a Failure; different sessions of one
/// graph may run at once. A session keeps what it needs of its graph and Host alive.
class TENON_API Session {
 public:
  explicit Session(const Graph& graph, SessionOptions options = {});
  /// Of a graph that nobody else has a handle of, which is spared a copy: `Session(Graph::load(host, path))`.
  explicit Session(Graph&& graph, SessionOptions options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Inputs by name, outputs by name. Inputs may have any storage; an output has the storage that its operator chose. Throws Failure for
  /// missing, unknown or mismatched inputs before anything runs, and for errors of kernels.
  NamedTensors run(const NamedTensors& inputs) { return run(inputs, RunOptions{}); }
  NamedTensors run(const NamedTensors& inputs, const RunOptions& options);
  NamedTensors run(const NamedTensors& inputs, const Destinations& destinations) {
    return run(inputs, RunOptions{.destinations = destinations});
  }

  /// All outputs, by position instead of by name, for small runs: `inputs` in the order of Graph::inputs(), `outputs` in that of
  /// Graph::outputs(). An empty output is made; another one must be dense and contiguous, is overwritten, and has the output's dtype and
  /// shape. Returns whether inputs of these types always give outputs of these types. Throws Failure as run(), and (usage) for other
  /// numbers.
  bool run_in_order(std::span<const Tensor> inputs, std::span<Tensor> outputs, const std::stop_token& stop = {});

  /// The plan for inputs of these shapes (others have the shapes that the graph declares), on the CPU: what runs in which order and where,
  /// and where each value lies. Nothing is allocated and nothing runs. Throws Failure, (usage) for a name that is no input.
  PlanInfo plan(const std::map<std::string, Shape>& shapes);
  /// describe() of it: a line for each step.
  std::string describe_plan(const std::map<std::string, Shape>& shapes);
  /// Its bytes() of memory: what it needs besides inputs, variables and outputs.
  std::int64_t plan_bytes(const std::map<std::string, Shape>& shapes);

  /// Recomputes the last run node by node and returns the first input, variable, state or node with a NaN or an infinity:
  /// `[log] node 'x': element 3 is nan`; empty if all values are finite. Updates nothing.
  std::string first_non_finite(const NamedTensors& inputs);

  std::uint64_t step() const;         ///< runs so far; random numbers depend on it
  void set_step(std::uint64_t step);  ///< as after this many runs
  /// False where the trace lacks a run, since the file could not be written. Such a run's results are given all the same.
  bool trace_complete() const;
  /// With SessionOptions::profile: of each node that ran, the longest first. Runs that fail count as far as they came.
  std::vector<NodeTime> times() const;
  void clear_times();  ///< as if nothing had run: kernels get ready in first runs, which take longer

  /// The current elements of a variable, state or constant, on the CPU; empty if it has none yet. What runs change is copied. Throws
  /// Failure (usage) for an input, a node's output, or a value of another graph.
  Tensor tensor(Value value) const;
  Tensor tensor(std::string_view name) const;
  /// An independent copy of the session's graph with its current elements, such as trained variables.
  Graph graph() const;
  /// What the session runs in its place (SessionOptions::optimize): a step that stands for several nodes has a name made of theirs, and
  /// what is computed once is a constant. Nodes that composed operators consist of stand there themselves.
  Graph optimized() const;

  struct TENON_HIDDEN Impl;

 private:
  friend struct Inner;  // the host's own code
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon

// Runs a graph again and again.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <tenon/graph.hpp>
#include <tenon/plan_info.hpp>
#include <tenon/tensor.hpp>

namespace tenon {

struct SessionOptions {
  std::uint64_t seed = 0;  ///< of random operators; the same seed gives the same numbers on any number of threads
  bool training = false;
  /// Where nodes run that name no device of their own: `cpu`, `cuda`, `cuda:1`; empty: cpu. Where an operator has no kernel for it, its
  /// nodes run on the CPU, and HostOptions::warn is told of it and of the copies it takes.
  std::string device{};
  /// Writes Chrome's trace format where given, a process for each device and a thread for each of its streams. Each run adds its steps to
  /// the file, which is whole again after it; each step is then waited for.
  std::filesystem::path trace{};
  /// On GPUs, kernels that say that they only put work on the device are captured as CUDA graphs in the second run of a plan, and asked for
  /// as one from then on. False: each is asked for in each run.
  bool capture = true;
  bool keep_on_device = false;  ///< outputs stay on the device that made them; else they come to the CPU
};

using NamedTensors = std::map<std::string, Tensor>;

/// Where a run puts an output: contiguous memory of the output's dtype and shape. Sparse outputs have none, for their size is not known.
struct Destination {
  Tensor tensor;
  Write write = Write::to;  ///< add: to what is there, as gradients of several small batches are summed; none and in_place are refused
};
using Destinations = std::map<std::string, Destination>;

struct RunOptions {
  /// The outputs to compute; empty: all. Only what they need runs, and only the inputs that they need must be given. In training, a run of
  /// named outputs updates just the variables that are among them, and changes just the states of nodes that they need.
  std::vector<std::string> outputs{};
  Destinations destinations{};  ///< of some outputs; the others are made anew
  std::stop_token stop{};       ///< looked at before each node: a run that is asked to stop ends with a Failure (failed)
};

/// Binds a graph once, plans it for each combination of input shapes, storages and devices (and keeps the plans), and runs it. Inputs may
/// lie on any device. The graph is left as it is, and later edits of it do not reach the session. What runs change (states, and in training
/// the variables that the graph updates) is the session's own from the start; everything else it shares with the graph. Variables, states
/// and constants that a GPU reads are moved there when the session is made. Threads: one at a time per session, a second one is refused.
/// Sessions of one graph may run at once. A session keeps what it needs of its graph and Host alive.
class Session {
 public:
  explicit Session(const Graph& graph, SessionOptions options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Inputs by name, outputs by name; each input in any storage, each output in the one that its operator chose for them. Throws Failure
  /// for missing, unknown or ill-fitting inputs before anything runs, and for what kernels report.
  NamedTensors run(const NamedTensors& inputs) { return run(inputs, RunOptions{}); }
  NamedTensors run(const NamedTensors& inputs, const RunOptions& options);
  NamedTensors run(const NamedTensors& inputs, const Destinations& destinations) {
    return run(inputs, RunOptions{.destinations = destinations});
  }

  /// The plan for inputs of these shapes (others have the shapes that the graph declares), on the CPU: what runs in which order and where,
  /// and where each value lies. Nothing is allocated and nothing runs.
  PlanInfo plan(const std::map<std::string, Shape>& shapes);
  /// describe() of it: a line for each step.
  std::string describe_plan(const std::map<std::string, Shape>& shapes);
  /// Its bytes() of memory: what it needs besides inputs, variables and outputs.
  std::int64_t plan_bytes(const std::map<std::string, Shape>& shapes);

  /// Computes the last run's nodes again, one by one: the first input, variable, state or node with a NaN or an infinity, as in
  /// `[log] node 'x': element 3 is nan`. Empty where there is none. Updates nothing.
  std::string first_non_finite(const NamedTensors& inputs);

  std::uint64_t step() const;         ///< runs so far; random numbers depend on it
  void set_step(std::uint64_t step);  ///< as if so many runs had been made

  /// The elements of a variable, state or constant as runs have left them, on the CPU; empty where it has none yet. What runs change is
  /// copied. Throws Failure (usage) for an input, a node's output, or a value of another graph.
  Tensor tensor(Value value) const;
  Tensor tensor(std::string_view name) const;
  /// A graph of its own like the one that the session was made of, with the elements that runs have left: what training has made.
  Graph graph() const;

  struct Impl;
  Impl& impl() const { return *impl_; }  ///< for the host's own code

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon

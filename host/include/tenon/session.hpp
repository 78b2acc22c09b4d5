// Runs a graph again and again.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <tenon/graph.hpp>
#include <tenon/tensor.hpp>

namespace tenon {

struct SessionOptions {
  std::uint64_t seed = 0;  ///< of random operators; the same seed gives the same numbers on any number of threads
  bool training = false;
  std::string device;           ///< empty: cpu
  std::filesystem::path trace;  ///< writes Chrome's trace format where given
};

using NamedTensors = std::map<std::string, Tensor>;

/// Binds a graph once, plans it for each combination of input shapes (and keeps the plans), and runs it.
/// Threads: one at a time per session. Two sessions of one graph may run at once.
class Session {
 public:
  explicit Session(Graph graph, SessionOptions options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Inputs by name, outputs by name. Throws Failure for missing, unknown or ill-fitting inputs before anything runs, and for what kernels
  /// report.
  NamedTensors run(const NamedTensors& inputs);

  /// What a plan for these input shapes needs, as text: steps, offsets, bytes, lower bound.
  std::string describe_plan(const std::map<std::string, Shape>& shapes);

  std::uint64_t step() const;  ///< runs so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tenon

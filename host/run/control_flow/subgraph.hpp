// A graph that is a parameter of an operator.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>
#include <vector>

#include "run/host_impl.hpp"

namespace tenon {

/// Inputs and outputs are positional; there are no variables, states or random operators. Threads:
/// infer() any, run() one at a time.
class Subgraph {
 public:
  /// `param` is the prefix of messages. Throws Failure.
  Subgraph(Host::Impl& host, std::string_view text, const char* param);

  std::size_t inputs() const;
  std::size_t outputs() const;
  /// The types of the outputs for inputs of these types. Throws Failure.
  std::vector<tenon_type> infer(std::span<const tenon_type> inputs) const;
  /// Writes the outputs to contiguous tensors of the types from infer(), and returns the first one.
  Tensor run(bool training, const std::vector<Tensor>& inputs,
             const std::vector<Tensor>& outputs = {});
  /// Returns all outputs as new tensors, whatever their shapes.
  std::vector<Tensor> run_all(bool training, const std::vector<Tensor>& inputs);

  Graph graph() const { return graph_.clone(); }  ///< an editable copy
  const char* param() const { return param_; }
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  template <class Work>
  decltype(auto) with_context(Work&& work) const;
  void require_runs() const;
  Session& session(bool training);

  const char* param_;
  Graph graph_;  // bound and complete
  std::vector<std::string> input_names_, output_names_;
  std::optional<std::string> failure_;
  bool allocates_ = false;              // an output's operator allocates its own memory
  std::optional<Session> sessions_[2];  // indexed by training
};

/// The message of the graph's `fail` node; nullopt if there is none and the graph can run.
std::optional<std::string> fail_message(const Graph& graph);

/// `body` with gradients instead of its outputs. The loss is the sum of its outputs at `outputs`,
/// each multiplied by a new input that follows its own inputs; gradients are taken with respect to
/// the floating-point inputs at `wrt`. Zero gradients are filled with zeros.
Graph gradient_of(const Subgraph& body, const std::vector<std::size_t>& outputs,
                  const std::vector<std::size_t>& wrt);

/// Replaces the graph's outputs.
void set_outputs(Graph& graph, const std::vector<Value>& values);
/// Reorders a graph's inputs: `order` has the old position of each.
void reorder_inputs(Graph& graph, const std::vector<std::size_t>& order);

}  // namespace tenon

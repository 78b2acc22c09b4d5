// A graph as a parameter of an operator.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <tenon/host/graph.hpp>
#include <tenon/host/session.hpp>
#include <vector>

#include "run/host_impl.hpp"

namespace tenon {

/// It reads its inputs and computes its outputs, both by their order; it has neither variables nor states, and nothing random. Threads:
/// infer() any, run() one at a time.
class Subgraph {
 public:
  /// `param`: for messages, which begin with it. Throws Failure.
  Subgraph(Host::Impl& host, std::string_view text, const char* param);

  std::size_t inputs() const;
  std::size_t outputs() const;
  /// The types of the outputs where the inputs have these. Throws Failure.
  std::vector<tenon_type> infer(std::span<const tenon_type> inputs) const;
  /// Writes the outputs to contiguous tensors of the types that infer() gave; the first one is returned.
  Tensor run(bool training, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs = {});
  /// All outputs, as new tensors, of whatever shapes they turn out to have.
  std::vector<Tensor> run_all(bool training, const std::vector<Tensor>& inputs);

  Graph graph() const { return graph_.clone(); }  ///< to edit
  const char* param() const { return param_; }
  [[noreturn]] void refuse(const std::string& what) const;

 private:
  template <class Work>
  decltype(auto) named(Work&& work) const;
  void require_runs() const;
  Session& session(bool training);

  const char* param_;
  Graph graph_;  // bound and complete
  std::vector<std::string> input_names_, output_names_;
  std::optional<std::string> failure_;
  bool allocates_ = false;              // an output's operator takes no memory of the caller
  std::optional<Session> sessions_[2];  // in training or not
};

/// The message of a graph's `fail`; nothing: it has none, and may run.
std::optional<std::string> fail_message(const Graph& graph);

/// `body` with gradients instead of its outputs: by the floating inputs whose positions are `wrt`, of the sum of its outputs at `outputs`
/// times as many new inputs behind its own. What is zero is made of zeros.
Graph gradient_of(const Subgraph& body, const std::vector<std::size_t>& outputs, const std::vector<std::size_t>& wrt);

/// Instead of the outputs that it has.
void set_outputs(Graph& graph, const std::vector<Value>& values);
/// Puts a graph's inputs into another order: the position that each new one had.
void reorder_inputs(Graph& graph, const std::vector<std::size_t>& order);

}  // namespace tenon

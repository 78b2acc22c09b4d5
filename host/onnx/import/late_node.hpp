// Nodes that wait for the shapes of their inputs.
#pragma once
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tenon/host/session.hpp>
#include <vector>

#include "onnx/model.hpp"
#include "run/host_impl.hpp"

namespace tenon::onnx {

/// An ONNX model of one node. For each combination of input types, the node becomes a graph of its own. Threads: any.
class LateNode {
 public:
  /// `text`: the model in base64. Throws Failure.
  LateNode(Host::Impl& host, std::string_view text);

  std::size_t inputs() const { return model_.graph.inputs.size(); }
  std::size_t outputs() const { return model_.graph.outputs.size(); }
  /// As far as they are known. Throws Failure if all input types are known and the node is refused.
  std::vector<tenon_type> infer(std::span<const tenon_type> inputs);
  /// Writes the outputs, of the types that infer() gave.
  void run(bool training, const std::vector<Tensor>& inputs, std::vector<Tensor> outputs);

 private:
  struct Imported {
    std::vector<tenon_type> inputs;
    std::optional<Graph> graph;  ///< nothing: the node is refused
    std::optional<Failure> refusal{};
    std::optional<Session> sessions[2]{};  ///< in training or not
  };
  Imported& imported(std::span<const tenon_type> inputs);

  Host::Impl& host_;
  Model model_;
  std::mutex mutex_;
  std::list<Imported> imported_;  ///< the last one used first
};

}  // namespace tenon::onnx

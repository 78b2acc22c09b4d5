// Nodes that are imported only when the shapes of their inputs are known.
#pragma once
#include <functional>
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

/// An ONNX model of one node. The node becomes a separate graph for each combination of input types
/// and, if types do not suffice, of the elements of inputs that may hold sizes. Thread-safe.
class DeferredNode {
 public:
  /// `text`: the model in base64. Throws Failure.
  DeferredNode(Host::Impl& host, std::string_view text);

  std::size_t inputs() const { return model_.graph.inputs.size(); }
  std::size_t outputs() const { return model_.graph.outputs.size(); }
  /// Returns the elements of an input; nothing if they are not known yet.
  using Elements = std::function<std::optional<Tensor>(std::size_t)>;
  /// Output types, as far as they are known. Throws Failure if the node is rejected although
  /// everything it may depend on is known, or if an output's dtype differs from the one that the
  /// model declares.
  std::vector<tenon_type> infer(std::span<const tenon_type> inputs, const Elements& elements);
  /// Writes the outputs, which have the types that infer() returned.
  void run(bool training, const std::vector<Tensor>& inputs, std::vector<Tensor> outputs);

 private:
  struct Imported {
    std::vector<tenon_type> inputs;
    /// elements that are constants in the graph; empty for the others
    std::vector<std::optional<Tensor>> elements;
    std::optional<Graph> graph{};  ///< nothing if the node is rejected
    std::optional<Failure> refusal{};
    std::optional<Session> sessions[2]{};  ///< for inference and for training
  };
  Imported& imported(const std::vector<tenon_type>& types,
                     std::vector<std::optional<Tensor>> elements);
  /// Returns null if the node is rejected while elements are unknown.
  Imported* import_for(std::span<const tenon_type> inputs, const Elements& elements);

  Host::Impl& host_;
  Model model_;
  std::mutex mutex_;
  std::list<Imported> imported_;  ///< most recently used first
};

}  // namespace tenon::onnx

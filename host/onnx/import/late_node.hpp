// Nodes that wait for the shapes of their inputs.
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

/// An ONNX model of one node. For each combination of input types, the node becomes a graph of its own; if types do not suffice, for their
/// elements, too, of inputs that may hold sizes. Threads: any.
class LateNode {
 public:
  /// `text`: the model in base64. Throws Failure.
  LateNode(Host::Impl& host, std::string_view text);

  std::size_t inputs() const { return model_.graph.inputs.size(); }
  std::size_t outputs() const { return model_.graph.outputs.size(); }
  /// The elements of an input; nothing if they are not known yet.
  using Elements = std::function<std::optional<Tensor>(std::size_t)>;
  /// As far as they are known. Throws Failure if the node is refused although all that it may depend on is known, and if an output's dtype
  /// is not the one that the model declares.
  std::vector<tenon_type> infer(std::span<const tenon_type> inputs, const Elements& elements);
  /// Writes the outputs, of the types that infer() gave.
  void run(bool training, const std::vector<Tensor>& inputs, std::vector<Tensor> outputs);

 private:
  struct Imported {
    std::vector<tenon_type> inputs;
    std::vector<std::optional<Tensor>> elements;  ///< that the graph has as constants; empty: none
    std::optional<Graph> graph{};                 ///< nothing: the node is refused
    std::optional<Failure> refusal{};
    std::optional<Session> sessions[2]{};  ///< in training or not
  };
  Imported& imported(const std::vector<tenon_type>& types, std::vector<std::optional<Tensor>> elements);
  /// Null: it is refused as long as elements are not known.
  Imported* import_by(std::span<const tenon_type> inputs, const Elements& elements);

  Host::Impl& host_;
  Model model_;
  std::mutex mutex_;
  std::list<Imported> imported_;  ///< the last one used first
};

}  // namespace tenon::onnx

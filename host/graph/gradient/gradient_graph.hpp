// Interface for operators that build graphs, in gradient() or forward(Compose&).
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/builder.hpp"

namespace tenon {

/// The values around one node, looked up on demand, and the results of its operator: gradients of
/// inputs, or outputs.
struct GraphCallbacks {
  const char* function = "gradient()";
  std::uint32_t input_count = 0, output_count = 0;
  std::function<ValueId(std::uint32_t)> input, output,
      output_grad;  ///< the last two: null in forward()
  std::function<bool(std::int32_t source, std::uint32_t)> connected;  // enum tenon_gradient_source
  std::function<std::string(std::string_view op)> name_of{};          ///< name of an added node
  /// called for each added node; may be null
  std::function<void(NodeId)> added{};
  std::string home{};    ///< the operator's space, which is searched first
  std::string device{};  ///< device of the added nodes
  std::optional<std::vector<ValueId>>
      allowed_values{};  ///< existing values that may be used; empty optional: all
  /// out: none for results that the operator did not set
  std::vector<ValueId> results{};
};

/// Runs the operator's gradient() or, without `output_grad`, its forward(Compose&), and checks
/// every request. Throws Failure with the operator's reason.
void run_graph_function(GraphBuilder& builder, const LoadedOperator& op, const void* object,
                        GraphCallbacks& callbacks);

/// The values around a node for its gradient(). `input` returns none for an input that is not
/// connected, `output_grad` for a gradient that is zero, which `zeros` then creates.
struct GradientValues {
  std::function<ValueId(std::uint32_t)> input, output, output_grad;
  std::function<ValueId(ValueId like)> zeros;
};

/// Runs the node's gradient(). Returns the gradients of its inputs, none for those that it did not
/// set. Throws Failure, for an input that is not connected (usage), too.
std::vector<ValueId> run_gradient(GraphBuilder& builder, NodeId id, const GradientValues& values);

}  // namespace tenon

// What an operator's gradient() or forward(Compose&) is given: a graph under construction.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/builder.hpp"

namespace tenon {

/// The values around one node, asked for when its operator wants them, and what it says of its inputs' gradients or of its outputs.
struct GraphAround {
  const char* function = "gradient()";
  std::uint32_t input_count = 0, output_count = 0;
  std::function<ValueId(std::uint32_t)> input, output, output_grad;   ///< the last two: null in forward()
  std::function<bool(std::int32_t source, std::uint32_t)> connected;  // enum tenon_gradient_source
  std::function<std::string(std::string_view op)> name_of{};          ///< of a node that is added
  std::function<void(NodeId)> added{};                                ///< null: nobody wants to know
  std::string home{};                                                 ///< the operator's space, in which others are looked up first
  std::string device{};                                               ///< of what is added
  std::optional<std::vector<ValueId>> only_given{};                   ///< all that it may use beside what it adds; nothing: all there is
  std::vector<ValueId> results{};                                     ///< out: none where the operator said nothing
};

/// Runs the operator's gradient() or, without `output_grad`, its forward(Compose&). Throws Failure with its reason; never trusts what it
/// asks for.
void run_graph_function(GraphBuilder& builder, const LoadedOperator& op, const void* object, GraphAround& around);

}  // namespace tenon

// A plan while passes make it: what it is made from, what it is so far, and what one pass leaves for later ones.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"

namespace tenon {

/// Passes read and write a draft, and nothing else. `kernels`, `tensors` and `request` must outlive it. Threads: one at a time.
class PlanDraft {
 public:
  /// `types`: of all values, as infer_with() returns them.
  PlanDraft(std::shared_ptr<const GraphSnapshot> graph, const Kernels& kernels, const TensorTable& tensors, std::vector<tenon_type> types,
            const PlanRequest& request);

  const Kernels& kernels;
  const TensorTable& tensors;
  const PlanRequest& request;
  std::shared_ptr<Plan> plan;  ///< so far

  // What passes on memory leave for each other, by value of the graph.
  std::vector<std::uint32_t> output_names;     ///< how many outputs of the graph it is
  std::vector<bool> adds;                      ///< it is written by adding to what lies there
  std::vector<std::uint32_t> last_use;         ///< of a value that owns memory: the last step that uses a value in it; none: no step
  std::vector<const IsolatedPlugin*> writers;  ///< of a value that owns memory: whose worker process may write there; null: none

  Lowered& graph() { return plan->graph; }
  MemoryPlan& memory() { return plan->memory; }
  const GraphModel& model() const { return plan->graph.model(); }
  std::vector<tenon_type>& types() { return plan->memory.types; }

  /// The graph to change: the first call copies it, so that a plan copies its graph at most once.
  GraphSnapshot& edit();

  /// Adds an operator of the host's own to the graph. `info` may differ from the operator's.
  std::uint32_t add_operator(const LoadedOperator& op, std::shared_ptr<const OperatorInfo> info);
  /// Adds a forward node after all others. The caller adds its outputs before the next node, and puts it into graph().order.
  NodeId add_node(std::string_view name, std::uint32_t op, std::span<const ValueId> inputs, Device& device);
  /// Adds an output to the node that was added last. Without a name it is called as nodes' outputs are.
  ValueId add_output(NodeId node, tenon_type type, std::string_view name = {});

 private:
  std::shared_ptr<const GraphSnapshot> original_;  // references into it stay valid
  std::shared_ptr<GraphSnapshot> own_;             // null until the first edit()
};

}  // namespace tenon

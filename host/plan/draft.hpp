// A plan under construction: its sources, the plan so far, and data that passes leave for later
// ones.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"

namespace tenon {

/// Passes read and write only the draft. `kernels`, `tensors` and `request` must outlive it. Not
/// thread-safe.
class PlanDraft {
 public:
  /// `types`: of all values, from infer_with().
  PlanDraft(std::shared_ptr<const GraphSnapshot> graph, const Kernels& kernels,
            const TensorTable& tensors, std::vector<tenon_type> types, const PlanRequest& request);

  const Kernels& kernels;
  const TensorTable& tensors;
  const PlanRequest& request;
  std::shared_ptr<Plan> plan;  ///< the plan so far

  // Data that memory passes exchange, indexed by the graph's values.
  std::vector<std::uint32_t> output_names;  ///< number of graph outputs that are this value
  std::vector<bool> adds;                   ///< written by accumulation into existing memory
  std::vector<std::uint32_t>
      last_use;  ///< for owners of memory: last step that uses a value in it; none: no step
  std::vector<const IsolatedPlugin*>
      writers;  ///< for owners of memory: plugin whose worker process may write it; or null

  LoweredGraph& graph() { return plan->graph; }
  MemoryPlan& memory() { return plan->memory; }
  const GraphModel& model() const { return plan->graph.model(); }
  std::vector<tenon_type>& types() { return plan->memory.types; }

  /// Returns the graph for modification. The first call copies it, so a plan copies its graph at
  /// most once.
  GraphSnapshot& edit();

  /// Adds one of the host's own operators to the graph. `info` may differ from the operator's.
  std::uint32_t add_operator(const LoadedOperator& op, std::shared_ptr<const OperatorInfo> info);
  /// Appends a forward node. The caller adds its outputs before the next node, and inserts it into
  /// graph().order.
  NodeId add_node(std::string_view name, std::uint32_t op, std::span<const ValueId> inputs,
                  Device& device);
  /// Adds an output to the last node. Without a name it gets a node output's default label.
  ValueId add_output(NodeId node, tenon_type type, std::string_view name = {});

 private:
  std::shared_ptr<const GraphSnapshot> original_;  // references into it stay valid
  std::shared_ptr<GraphSnapshot> own_;             // null until the first edit()
};

}  // namespace tenon

// A bound graph with concrete shapes: which nodes run in which order and where, and where each value lies.
#pragma once
#include <map>
#include <string>
#include <tenon/host/optimize.hpp>
#include <tenon/host/plan_info.hpp>
#include <vector>

#include "graph/inference.hpp"
#include "plan/gpu_schedule.hpp"
#include "plan/kept.hpp"

namespace tenon {

/// Plain data: it holds no memory and no streams, so that it can be printed, compared and shared. An Execution runs it. Steps are positions
/// in memory.order. Threads: any, at once; only the passes of make_plan() write it.
struct Plan {
  Lowered graph;
  MemoryPlan memory;
  GpuSchedule gpus;
  std::vector<bool> constant;    ///< of each value of the session's graph: kernels may keep what they make of it; empty: of none
  std::vector<KeptPart> kept{};  ///< in the order of the steps

  const GraphModel& model() const { return graph.model(); }  ///< the graph as it runs, conversions and copies too
  const std::vector<tenon_type>& types() const { return memory.types; }
  std::size_t step_count() const { return memory.order.size(); }
  NodeId node_of(std::size_t step) const { return memory.order[step]; }
  const NodeRecord& node(std::size_t step) const { return model().nodes[node_of(step)]; }
  const LoadedOperator& operator_of(NodeId node) const { return *graph.binding().nodes[node].op; }
  Device& device_of(std::size_t step) const { return *graph.devices[node_of(step)]; }
  /// Of a step that copies: which of graph.copies; none for others.
  std::uint32_t copy_of(std::size_t step) const { return graph.copy_of[node_of(step)]; }
  /// Of a step that runs several element-wise nodes: which of graph.chains; none for others.
  std::uint32_t chain_of(std::size_t step) const { return node_of(step) < graph.first_chain ? none : node_of(step) - graph.first_chain; }
  /// Of a step that copies: the device it copies from; null for others.
  const Device* copied_from(std::size_t step) const {
    return copy_of(step) == none ? nullptr : graph.places[graph.source_of(graph.copies[copy_of(step)])];
  }
  /// Where the step runs; nothing for one that the CPU runs when it is called.
  const PlannedStream* stream_of(std::size_t step) const;
  /// Whether the step is captured together with its neighbours.
  bool captures(std::size_t step) const;
  bool runs_sparse(std::size_t step) const { return graph.sparse[node_of(step)]; }
  /// enum tenon_write; none: nothing reads this gradient, and the step does not compute it.
  std::uint8_t write(std::size_t step, std::uint32_t output) const { return memory.writes[memory.first_write[step] + output]; }
  std::int64_t workspace_of(std::size_t step) const {
    return memory.workspace_buffer[step] == none ? 0 : static_cast<std::int64_t>(memory.workspace_bytes[step]);
  }
};

struct PlanRequest {
  bool training = false;                  ///< updates are made
  bool keep_on_device = false;            ///< outputs stay where they are made; else they come to the CPU
  bool capture = true;                    ///< capturable kernels on GPUs
  std::map<ValueId, Device*> devices{};   ///< of inputs that are not on the CPU
  const WantedOutputs* wanted = nullptr;  ///< null: all outputs and updates
  Optimize optimize = Optimize::full;     ///< what the plan may change: nothing, no bit of the results, or their rounding
  std::vector<bool> constant{};           ///< as the plan has it
  bool chains = true;                     ///< neighbouring element-wise nodes run as one step, but for Optimize::none
  int threads = 1;                        ///< that a kernel may use, and for which such steps have scratch memory
};

/// Runs all of plan_passes. `types`: those of all values, as infer_with() returns them. Throws Failure that names the node for what cannot
/// run.
std::shared_ptr<const Plan> make_plan(std::shared_ptr<const GraphSnapshot> graph, const Kernels& kernels, const TensorTable& tensors,
                                      std::vector<tenon_type> types, const PlanRequest& request);

/// The declared types of the inputs, storages too, with these shapes in their places.
std::map<ValueId, tenon_type> input_types(const GraphModel& model, const std::map<std::string, Shape>& shapes);

struct Inferred {
  std::vector<tenon_type> types;                   ///< of all values
  std::vector<std::pair<NodeId, ValueId>> unseen;  ///< as Inference has them
  std::map<ValueId, Tensor> evaluated{};           ///< as Inference has them
};

/// What inference begins with: null: the types that are declared; and elements of constants alone. `settled`: as of the graph's snapshot.
struct KnownBefore {
  const std::vector<tenon_type>* types = nullptr;
  const Inference::Elements* elements = nullptr;
  bool settled = false;
  const Evaluate* evaluate = nullptr;
};

/// The types of all values with these input shapes bound, inferred as far as `wanted` needs, with the storages of inputs and `tensors`.
/// Throws Failure for inputs that do not fit.
Inferred infer_with(const GraphModel& model, const Binding& binding, const TensorTable& tensors,
                    const std::map<ValueId, tenon_type>& inputs, const WantedOutputs* wanted = nullptr, const KnownBefore& known = {});

/// What the plan's steps do and where, for printing and for applications. Throws Failure for a kernel that fails to tell its algorithm.
PlanInfo info_of(const Plan& plan, const Kernels& kernels);

}  // namespace tenon

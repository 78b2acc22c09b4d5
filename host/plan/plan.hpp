// An executable plan of a bound graph with concrete shapes: kernels, devices, execution order and
// memory offsets.
#pragma once
#include <map>
#include <set>
#include <string>
#include <tenon/host/optimize.hpp>
#include <tenon/host/plan_info.hpp>
#include <vector>

#include "graph/inference/inference.hpp"
#include "plan/gpu_schedule.hpp"
#include "plan/packed_constants.hpp"

namespace tenon {

/// Plain data: it owns no memory and no streams, so it can be printed, compared and shared. An
/// Execution runs it. Steps are indices into memory.order. Immutable once make_plan() returns,
/// hence thread-safe.
struct Plan {
  LoweredGraph graph;
  MemoryPlan memory;
  GpuSchedule gpus;
  std::vector<bool>
      constant;  ///< of each value of the session's graph: kernels may pack it; empty: none
  std::vector<PackedConstant> packed{};  ///< packed constants in step order

  const GraphModel& model() const {
    return graph.model();
  }  ///< the executed graph, with conversions and copies
  const std::vector<tenon_type>& types() const { return memory.types; }
  std::size_t step_count() const { return memory.order.size(); }
  NodeId node_of(std::size_t step) const { return memory.order[step]; }
  const NodeRecord& node(std::size_t step) const { return model().nodes[node_of(step)]; }
  const LoadedOperator& operator_of(NodeId node) const { return *graph.binding().nodes[node].op; }
  Device& device_of(std::size_t step) const { return *graph.devices[node_of(step)]; }
  /// Index in graph.copies of a step that copies; none for others.
  std::uint32_t copy_of(std::size_t step) const { return graph.copy_of[node_of(step)]; }
  /// Index in graph.groups of a step that runs a fused elementwise group; none for others.
  std::uint32_t group_of(std::size_t step) const {
    return node_of(step) < graph.first_group ? none : node_of(step) - graph.first_group;
  }
  /// The device that a copy step reads from; null for others.
  const Device* copied_from(std::size_t step) const {
    return copy_of(step) == none
               ? nullptr
               : graph.value_devices[graph.source_of(graph.copies[copy_of(step)])];
  }
  /// The step's stream; null if the CPU runs it synchronously.
  const PlannedStream* stream_of(std::size_t step) const;
  /// Whether the step is captured together with its neighbors.
  bool captures(std::size_t step) const;
  bool runs_sparse(std::size_t step) const { return graph.sparse[node_of(step)]; }
  /// enum tenon_write; TENON_WRITE_NONE for a gradient that nothing reads and the step does not
  /// compute.
  std::uint8_t write(std::size_t step, std::uint32_t output) const {
    return memory.writes[memory.first_write[step] + output];
  }
  std::int64_t workspace_of(std::size_t step) const {
    return memory.workspace_buffer[step] == none
               ? 0
               : static_cast<std::int64_t>(memory.workspace_bytes[step]);
  }
};

struct PlanRequest {
  bool training = false;  ///< apply updates of variables
  /// leave outputs on the device that produces them; false: copy them to the CPU
  bool keep_on_device = false;
  bool capture = true;                   ///< capture capturable kernels on GPUs
  std::map<ValueId, Device*> devices{};  ///< devices of inputs that are not on the CPU
  const RequestedOutputs* requested_outputs = nullptr;  ///< null: all outputs and updates
  Optimize optimize =
      Optimize::full;            ///< allowed changes: none, bit-identical, or different rounding
  std::vector<bool> constant{};  ///< see Plan::constant
  bool fuse_elementwise = true;  ///< fuse elementwise nodes, unless Optimize::none
  /// threads that a kernel may use; fused groups get scratch memory for each
  int threads = 1;
};

/// Runs all plan_passes. `types`: of all values, from infer_with(). Throws Failure that names the
/// node if something cannot run.
std::shared_ptr<const Plan> make_plan(std::shared_ptr<const GraphSnapshot> graph,
                                      const Kernels& kernels, const TensorTable& tensors,
                                      std::vector<tenon_type> types, const PlanRequest& request);

/// Returns the declared types of the inputs, including storages, with these shapes substituted.
std::map<ValueId, tenon_type> input_types(const GraphModel& model,
                                          const std::map<std::string, Shape>& shapes);

struct Inferred {
  std::vector<tenon_type> types;                             ///< of all values
  std::vector<std::pair<NodeId, ValueId>> missing_elements;  ///< see Inference::missing_elements()
  std::map<ValueId, Tensor> evaluated{};                     ///< see Inference::take_evaluated()
  std::set<ValueId> read_constants{};                        ///< see Inference::read_constants()
};

/// The types and elements that inference starts from. `types` null: the declared types; `elements`
/// null: only constants. `inference_complete`: see GraphSnapshot.
struct InferenceStart {
  const std::vector<tenon_type>* types = nullptr;
  const Inference::Elements* elements = nullptr;
  bool inference_complete = false;
  const Evaluate* evaluate = nullptr;
};

/// Binds the input shapes and infers the types of all values that `requested_outputs` needs, taking
/// storages from the inputs and `tensors`. Throws Failure for inputs that do not match.
Inferred infer_with(const GraphModel& model, const Binding& binding, const TensorTable& tensors,
                    const std::map<ValueId, tenon_type>& inputs,
                    const RequestedOutputs* requested_outputs = nullptr,
                    const InferenceStart& known = {});

/// Describes the plan's steps for printing and for applications. Throws Failure if a kernel fails
/// to report its algorithm.
PlanInfo info_of(const Plan& plan, const Kernels& kernels);

}  // namespace tenon

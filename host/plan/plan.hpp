// A bound graph with concrete shapes, ready to run: a flat list of steps and one arena.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tenon/tensor.hpp>
#include <vector>

#include "graph/binding.hpp"
#include "plan/kernels.hpp"
#include "plan/placement.hpp"

namespace tenon {

/// One call. Running a plan is a loop over these and nothing else.
struct Step {
  tenon_kernel_function function;
  void* instance;
  tenon_call* call;
};

/// What a session gives to all its plans.
struct PlanContext {
  const tenon_host* host = nullptr;
  void* context = nullptr;  ///< goes into tenon_call::context
  tenon_error* error = nullptr;
  int threads = 1;
  bool training = false;
  std::uint64_t seed = 0;
};

/// The types of all values with these input shapes bound, inferred to the end. Throws Failure for inputs that do not fit.
std::vector<tenon_type> infer_with(const GraphModel& model, const Binding& binding, const std::map<ValueId, tenon_type>& inputs);

/// Everything points into the plan itself, so it does not move.
class Plan {
 public:
  Plan(const GraphModel& model, const Binding& binding, Kernels& kernels, const PlanContext& context, std::vector<tenon_type> types);
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  const std::vector<Step>& steps() const { return steps_; }
  NodeId node_of(std::size_t step) const { return order_[step]; }
  const std::vector<tenon_type>& types() const { return types_; }
  const MemoryPlacement& placement() const { return placement_; }
  bool in_place(std::size_t step, std::uint32_t output) const { return steps_[step].call->writes[output] == TENON_WRITE_IN_PLACE; }
  /// Offset of a value in the arena; -1: it lives elsewhere (inputs, variables, outputs).
  std::int64_t offset_of(ValueId value) const;
  std::int64_t workspace_of(std::size_t step) const { return static_cast<std::int64_t>(steps_[step].call->workspace_size); }

  /// Points an input or output at this run's memory.
  void set_data(ValueId value, void* data) { tensors_[value].dense.data = data; }
  /// For the calls that draw random numbers.
  void set_step(std::uint64_t step);

 private:
  void choose_order(const GraphModel& model, bool training);
  void find_blocks(const GraphModel& model, const Binding& binding);
  void find_last_uses(const GraphModel& model);
  bool reuse_input(const GraphModel& model, const OperatorInfo& info, std::uint32_t step, const NodeRecord& node, std::uint32_t output);
  void add_workspaces(const GraphModel& model, const Binding& binding, const Kernels& kernels);
  void make_tensors(const GraphModel& model);
  void make_calls(const GraphModel& model, const Binding& binding, Kernels& kernels, const PlanContext& context);

  std::vector<NodeId> order_;
  std::vector<tenon_type> types_;
  std::vector<std::uint32_t> last_use_;         // the last step that reads a value
  std::vector<std::uint32_t> block_of_;         // of each value; none: not in the arena
  std::vector<std::uint32_t> workspace_block_;  // of each step; none: it needs no scratch
  std::vector<std::uint64_t> workspace_bytes_;
  std::vector<Block> blocks_;
  std::vector<std::uint8_t> writes_;
  MemoryPlacement placement_;
  Tensor arena_;
  std::vector<tenon_tensor> tensors_;
  std::vector<tenon_tensor*> pointers_;
  std::vector<tenon_call> calls_;
  std::vector<tenon_call*> random_calls_;
  std::vector<Step> steps_;
};

}  // namespace tenon

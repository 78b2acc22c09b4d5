// The calls of a plan's steps.
#pragma once
#include <deque>
#include <vector>

#include "run/execution/copy_step.hpp"
#include "run/execution/fused_step.hpp"
#include "run/execution/plan_tensors.hpp"
#include "run/execution/step.hpp"

namespace tenon {

/// One call per step. All constructor arguments outlive it; addresses of its calls are stable.
class StepCalls {
 public:
  StepCalls(const Plan& plan, const Kernels& kernels, PlanTensors& tensors,
            std::deque<CopyStep>& copies, CallContext& context);
  StepCalls(const StepCalls&) = delete;
  StepCalls& operator=(const StepCalls&) = delete;

  const std::vector<Step>& steps() const { return steps_; }
  tenon_call& operator[](std::size_t step) { return calls_[step]; }
  std::size_t step_of(const Step& step) const {
    return static_cast<std::size_t>(step.call - calls_.data());
  }
  std::uint8_t& write(std::size_t entry) { return writes_[entry]; }  ///< as in MemoryPlan::writes
  void set_step(std::uint64_t step);                                 ///< of the random numbers
  void set_seed(std::uint64_t seed);
  /// The node whose kernel failed, given the step that failed.
  NodeId failed_node(std::size_t step) const;

 private:
  // A kernel that allocates outputs: sparse ones are validated before other code follows their
  // indices.
  struct SparseStep {
    tenon_kernel_function function;
    void* instance;
    const tenon_type* outputs;  // as planned
  };
  static std::int32_t run_sparse(void* step, const tenon_call* call);

  void set_forward_tensors(const NodeRecord& node, tenon_call& call);
  void set_backward_tensors(const NodeRecord& node, tenon_call& call);
  template <class Make>
  std::span<tenon_tensor* const> add_pointers(std::uint32_t count, Make make);
  Step make_step(std::size_t step, const Kernels& kernels);
  const ActiveCall* running(std::size_t step, const Kernels& kernels);

  const Plan& plan_;
  PlanTensors& tensors_;
  std::deque<CopyStep>& copies_;
  std::vector<std::uint8_t> writes_;
  std::vector<tenon_tensor> unread_;  // for backward steps that may query only their types
  std::vector<tenon_tensor*> pointers_;
  std::vector<tenon_call> calls_;
  std::vector<tenon_call*> random_calls_;
  std::deque<SparseStep> sparse_steps_;
  std::deque<FusedStep> fused_steps_;  // as in the plan's graph
  CallRecords records_;                // one for each step
  std::vector<Step> steps_;
};

}  // namespace tenon

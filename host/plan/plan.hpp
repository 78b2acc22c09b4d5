// A bound graph with concrete shapes, ready to run: a flat list of steps and one arena.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tenon/tensor.hpp>
#include <unordered_map>
#include <utility>
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
  void set_data(ValueId value, void* data);
  /// Whether an output's kernels can add to what is there; set_add then says whether they shall.
  bool can_add(ValueId output) const;
  void set_add(ValueId output, bool add);
  /// For the calls that draw random numbers.
  void set_step(std::uint64_t step);
  /// (variable, value) to copy after a run: updates that are not made in place.
  const std::vector<std::pair<ValueId, ValueId>>& copies() const { return copies_; }
  const tenon_tensor& tensor(ValueId value) const { return tensors_[value]; }

 private:
  /// An output of the graph that a step writes: its entry in writes_, and whether it can be made add.
  struct GivenOut {
    std::size_t write;
    bool adds;
  };

  void choose_order(const GraphModel& model, bool training);
  void count_readers(const GraphModel& model, bool training);
  void fold(const GraphModel& model, const Binding& binding);
  void find_last_uses(const GraphModel& model);
  void find_updates(const GraphModel& model, const Binding& binding);
  void find_blocks(const GraphModel& model, const Binding& binding);
  std::uint8_t place_output(const GraphModel& model, const OperatorInfo& info, std::uint32_t step, std::uint32_t output);
  std::uint32_t inside_readers(const GraphModel& model, ValueId value) const;
  bool reuse_input(const GraphModel& model, const OperatorInfo& info, std::uint32_t step, const NodeRecord& node, std::uint32_t output);
  void add_workspaces(const GraphModel& model, const Binding& binding, const Kernels& kernels);
  void make_tensors(const GraphModel& model);
  void make_calls(const GraphModel& model, const Binding& binding, Kernels& kernels, const PlanContext& context);
  void connect_forward(const GraphModel& model, const NodeRecord& node, tenon_call& call);
  void connect_backward(const GraphModel& model, const NodeRecord& node, tenon_call& call);

  std::vector<NodeId> order_;
  std::vector<tenon_type> types_;
  std::vector<std::uint32_t> readers_;  // of each value: steps that read it, names it is given out by, updates
  std::vector<bool> given_out_;
  std::vector<ValueId> root_;                         // the value in whose memory it lies; mostly its own
  std::vector<bool> adds_;                            // written by adding to what lies there
  std::vector<std::pair<ValueId, ValueId>> members_;  // (root that is given out, value in its memory)
  std::unordered_map<ValueId, ValueId> updated_;      // value -> variable whose memory it is written to
  std::vector<std::pair<ValueId, ValueId>> copies_;
  std::unordered_map<ValueId, GivenOut> given_out_writes_;
  std::vector<std::uint32_t> last_use_;         // the last step that reads a value
  std::vector<std::uint32_t> block_of_;         // of each value; none: not in the arena
  std::vector<std::uint32_t> workspace_block_;  // of each step; none: it needs no scratch
  std::vector<std::uint64_t> workspace_bytes_;
  std::vector<Block> blocks_;
  std::vector<std::uint8_t> writes_;
  MemoryPlacement placement_;
  Tensor arena_;
  std::vector<tenon_tensor> tensors_;
  std::vector<tenon_tensor> unread_;  // what backward steps may ask the types of alone
  std::vector<tenon_tensor*> pointers_;
  tenon_tensor** next_pointer_ = nullptr;
  std::vector<tenon_call> calls_;
  std::vector<tenon_call*> random_calls_;
  std::vector<Step> steps_;
};

}  // namespace tenon

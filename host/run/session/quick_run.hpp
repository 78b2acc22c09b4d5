// A fast path that repeats a run with inputs of the same types.
#pragma once
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <tenon/host/session.hpp>
#include <vector>

#include "run/execution/overlaps.hpp"
#include "run/session/plan_store.hpp"

namespace tenon {

/// Binds inputs and outputs to the execution of the plan that was used last. Valid until another
/// request gets a plan.
class QuickRun {
 public:
  /// Returns null unless a run of all outputs only calls steps on the CPU and writes dense outputs.
  /// `up_to_date`: the graph that the run began with. The plan belongs to another one if the run
  /// fell back to the original graph, as runs with inputs of these types do.
  static std::unique_ptr<QuickRun> of(const SessionGraph& up_to_date, Planned& planned);

  struct IoBinding {
    std::string name;
    ValueId value;
    tenon_type type;
    bool adds = false;  ///< outputs: kernels may accumulate into it, which these runs do not use
  };
  /// In the graph's order.
  const std::vector<IoBinding>& inputs() const { return inputs_; }
  const std::vector<IoBinding>& outputs() const { return outputs_; }

  /// Whether it was created while `graph` was up to date, so that a run would use the same plan.
  bool is_of(const SessionGraph& graph) const { return &graph == up_to_date_; }
  Planned& planned() const { return *planned_; }
  bool fits(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;
  /// Whether fused elementwise groups may run: no output overlaps memory that the run reads, or
  /// another output.
  bool has_no_overlap(std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  /// Points the execution at the tensors, and allocates empty outputs. Requires fits().
  Execution& bind(std::span<const Tensor> inputs, std::span<Tensor> outputs);

 private:
  const SessionGraph* up_to_date_ = nullptr;
  Planned* planned_ = nullptr;
  Execution* execution_ = nullptr;
  std::vector<IoBinding> inputs_, outputs_;
  std::optional<Overlaps> overlaps_;  // of a plan with fused groups
};

}  // namespace tenon

// A run, remembered for the next one with inputs of the same types.
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

/// What binds inputs and outputs to the execution of the plan that was used last. Valid until another plan is asked for.
class QuickRun {
 public:
  /// Where a run of all outputs has no more to do than call steps on the CPU and write dense outputs; nothing otherwise.
  /// `graph`: the one that was up to date.
  static std::unique_ptr<QuickRun> of(const Stage& stage, const SessionGraph& graph, Planned& planned);

  struct Place {
    std::string name;
    ValueId value;
    tenon_type type;
    bool adds = false;  ///< outputs: kernels may add to it, which these runs do not want
  };
  /// In the order of the graph's.
  const std::vector<Place>& inputs() const { return inputs_; }
  const std::vector<Place>& outputs() const { return outputs_; }

  /// Whether it was remembered while `graph` was up to date.
  bool is_of(const SessionGraph& graph) const { return &graph == graph_; }
  Planned& planned() const { return *planned_; }
  bool fits(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;
  /// Whether it may run chains of nodes: no output overlaps what the run reads, or another one.
  bool apart(std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  /// Points the execution at the tensors, and makes outputs that are empty. They fit.
  Execution& bind(std::span<const Tensor> inputs, std::span<Tensor> outputs);

 private:
  const SessionGraph* graph_ = nullptr;
  Planned* planned_ = nullptr;
  Execution* execution_ = nullptr;
  std::vector<Place> inputs_, outputs_;
  std::optional<Overlaps> overlaps_;  // of a plan with chains
};

}  // namespace tenon

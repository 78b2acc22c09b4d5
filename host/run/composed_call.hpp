// A call, outside of any graph, of an operator that is a graph of others.
#pragma once
#include "graph/operator_inference.hpp"
#include "run/execution/execution.hpp"
#include "run/operator_call.hpp"

namespace tenon {

/// Its nodes, planned once for tensors of these types, which are whole and dense. Threads: one at a time.
class ComposedCall {
 public:
  ComposedCall(const LoadedOperator& op, const Instance& object, Device& device, const CallTypes& types, const CallContext& context);
  ComposedCall(const ComposedCall&) = delete;
  ComposedCall& operator=(const ComposedCall&) = delete;

  /// Writes all outputs anew. Throws Failure with the node inside that failed.
  void run(const CallTensors& tensors, std::uint64_t seed, std::uint64_t step);
  std::int64_t bytes() const { return execution_->plan().memory.bytes(); }  ///< that it keeps

 private:
  void bind_outputs(const CallTensors& tensors);
  void take_outputs(const CallTensors& tensors);

  Device& device_;
  std::shared_ptr<const GraphSnapshot> graph_;
  std::vector<ValueId> inputs_;  // none: not connected
  TensorTable no_tensors_;
  Streams streams_;
  Arenas arenas_;
  std::optional<Kernels> kernels_;
  std::optional<Execution> execution_;
  std::vector<Tensor> made_;  // outputs that no kernel writes where they are wanted; empty: one does
};

}  // namespace tenon

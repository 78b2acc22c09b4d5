// A call, outside any graph, of an operator that is composed of others.
#pragma once
#include "graph/inference/operator_inference.hpp"
#include "run/calls/operator_call.hpp"
#include "run/execution/execution.hpp"

namespace tenon {

/// The operator's nodes, planned once for contiguous dense tensors of these types. Threads: one at
/// a time.
class ComposedCall {
 public:
  ComposedCall(const LoadedOperator& op, const Instance& object, Device& device,
               const CallTypes& types, const CallContext& context);
  ComposedCall(const ComposedCall&) = delete;
  ComposedCall& operator=(const ComposedCall&) = delete;

  /// Overwrites all outputs. Throws Failure that names the inner node that failed.
  void run(const CallTensors& tensors, std::uint64_t seed, std::uint64_t step);
  std::int64_t bytes() const { return execution_->plan().memory.bytes(); }  ///< held between calls

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
  std::vector<Tensor>
      made_;  // outputs that no kernel writes to the caller's memory; empty: written directly
};

}  // namespace tenon

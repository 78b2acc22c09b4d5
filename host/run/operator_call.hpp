// One operator with its parameters, called outside any graph: in memory that the caller chose, on the device where that lies.
#pragma once
#include <tenon/host/failure.hpp>
#include <vector>

#include "device/devices.hpp"
#include "graph/kernel_set.hpp"
#include "graph/operator_inference.hpp"
#include "graph/operator_use.hpp"
#include "plan/operator_storage.hpp"
#include "tensor/call_context.hpp"

namespace tenon {

/// All on the call's device. Null stands for an optional input that is left out. An entry in writes (enum tenon_write) for each output, of
/// backward for each input gradient. Gradients are backward's alone, where outputs are what forward wrote.
struct CallTensors {
  std::vector<const tenon_tensor*> inputs;
  std::vector<tenon_tensor*> outputs, states;
  std::vector<std::uint8_t> writes;
  std::vector<const tenon_tensor*> output_grads{};
  std::vector<tenon_tensor*> input_grads{};
};

/// Threads: one at a time per object; different objects at once.
class OperatorCall {
 public:
  /// Throws Failure for parameters that are refused and for an operator without a kernel for the device. `op` must outlive this.
  OperatorCall(const LoadedOperator& op, const Attributes& attributes, Device& device = cpu_device());
  OperatorCall(const OperatorCall&) = delete;
  OperatorCall& operator=(const OperatorCall&) = delete;

  const OperatorInfo& info() const { return *instance_.info(); }
  Device& device() const { return device_; }
  /// Whether it has no kernel, because it is a graph of other operators; it has no backward then.
  bool is_composed() const { return composed_; }
  const Instance& object() const { return instance_; }
  /// The kernel that computes these types; of backward, one that has it. Null where none does, as with graphs of other operators. Throws
  /// Failure (failed) where it cannot tell.
  const Instance* kernel(CallTypes& types, bool backward = false) const;
  /// The kernel that no types choose, and its functions.
  const Instance& kernel() const { return *plain_; }
  const tenon_operator& table() const { return *kernel().table(); }
  std::uint32_t outputs() const { return node_.output_count; }
  std::uint32_t count_of(const OutputInfo& output) const { return tenon::count_of(model_, node_, output); }
  const std::vector<tenon_attribute>& attributes() const { return attributes_; }

  /// Both throw Failure (failed) with the reason and the inputs' types.
  void infer(CallTypes& types) const { infer_operator(op_, instance_.get(), types); }
  /// For inputs of these types and storages. Throws Failure (plugin).
  StorageChoice storage(CallTypes& types) const {
    const auto* chosen = kernel(types);
    return choose_storage(op_, chosen != nullptr ? *chosen : kernel(), false, types.storages, types.inputs, outputs(), device_.type());
  }
  /// Done when they return, on the device's tensor_stream() where it is a GPU. Throw Failure (failed) with the kernel's reason, or the
  /// fault that it found on the GPU, and the inputs' types; backward needs a kernel that has it.
  void forward(CallTypes& types, const CallTensors& tensors, const CallContext& context) const;
  void backward(CallTypes& types, const CallTensors& tensors, const CallContext& context) const;

 private:
  const LoadedOperator& op_;
  Device& device_;
  GraphModel model_;
  NodeRecord node_;
  std::vector<tenon_attribute> attributes_;
  bool composed_ = false;
  Instance instance_;  // of the operator's own table
  KernelSet kernels_;  // where that is not the only one that computes
  const Instance* plain_ = &instance_;
};

}  // namespace tenon

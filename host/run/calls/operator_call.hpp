// Calls one operator with its parameters outside any graph, on tensors of the caller and on their
// device.
#pragma once
#include <tenon/host/failure.hpp>
#include <vector>

#include "device/devices.hpp"
#include "graph/inference/operator_inference.hpp"
#include "graph/kernel_set.hpp"
#include "graph/operators/operator_use.hpp"
#include "plan/operator_storage.hpp"
#include "tensor/call_context.hpp"

namespace tenon {

/// All tensors are on the call's device. Null is an omitted optional input. `writes` has an entry
/// (enum tenon_write) for each output, or for each input gradient of backward. Gradients are used
/// by backward only, whose `outputs` are those that forward wrote.
struct CallTensors {
  std::vector<const tenon_tensor*> inputs;
  std::vector<tenon_tensor*> outputs, states;
  std::vector<std::uint8_t> writes;
  std::vector<const tenon_tensor*> output_grads{};
  std::vector<tenon_tensor*> input_grads{};
};

/// Threads: one at a time per object; different objects concurrently.
class OperatorCall {
 public:
  /// Throws Failure if parameters are refused or the operator has no kernel for the device. `op`
  /// must outlive this.
  OperatorCall(const LoadedOperator& op, const Attributes& attributes,
               Device& device = cpu_device());
  OperatorCall(const OperatorCall&) = delete;
  OperatorCall& operator=(const OperatorCall&) = delete;

  const OperatorInfo& info() const { return *instance_.info(); }
  Device& device() const { return device_; }
  /// Whether the operator has no kernel because it is composed of others; it then has no backward.
  bool is_composed() const { return composed_; }
  const Instance& object() const { return instance_; }
  /// The kernel that computes these types; for backward, one that has a backward function. Null if
  /// there is none, as for composed operators. Throws Failure (failed) if supports() fails.
  const Instance* kernel(CallTypes& types, bool backward = false) const;
  /// The plain kernel, which does not depend on types, and its functions.
  const Instance& kernel() const { return *plain_; }
  const tenon_operator& table() const { return *kernel().table(); }
  std::uint32_t outputs() const { return node_.output_count; }
  std::uint32_t count_of(const OutputInfo& output) const {
    return tenon::count_of(model_, node_, output);
  }
  const std::vector<tenon_attribute>& attributes() const { return attributes_; }

  /// These throw Failure (failed) with the reason and the inputs' types.
  void infer(CallTypes& types) const { infer_operator(op_, instance_.get(), types); }
  /// The storages for inputs of these types and storages. Throws Failure (plugin).
  StorageChoice storage(CallTypes& types) const {
    const auto* chosen = kernel(types);
    return choose_storage(op_, chosen != nullptr ? *chosen : kernel(), false, types.storages,
                          types.inputs, outputs(), device_.type());
  }
  /// Complete when they return; on a GPU they use the device's tensor_stream(). Throw Failure
  /// (failed) with the kernel's reason or the fault it reported on the GPU, and the inputs' types.
  /// backward() needs a kernel that has it.
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
  KernelSet kernels_;  // if several kernels can compute it
  const Instance* plain_ = &instance_;
};

}  // namespace tenon

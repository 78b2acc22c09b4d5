// Builds kernel calls, both for steps of plans and for calls outside graphs.
#pragma once
#include <span>

#include "graph/instance.hpp"
#include "plan/lowering.hpp"
#include "tensor/call_context.hpp"
#include "tensor/kernel_function.hpp"

namespace tenon {

/// A call without tensors, workspace, stream, fault and node. `dispatch`: enum tenon_dispatch.
inline tenon_call make_call(CallContext& context, std::int32_t dispatch) {
  tenon_call call{};
  call.size = sizeof call;
  call.host = context.host;
  call.context = &context;
  call.error = &context.error->error;
  call.flags = context.training ? TENON_CALL_TRAINING : 0;
  call.seed = context.seed;
  call.step = context.step;
  call.threads = context.threads.count();
  call.dispatch = dispatch;
  return call;
}

inline void set_inputs(tenon_call& call, std::span<const tenon_tensor* const> inputs) {
  call.inputs = inputs.data();
  call.input_count = static_cast<std::uint32_t>(inputs.size());
}
inline void set_outputs(tenon_call& call, std::span<tenon_tensor* const> outputs) {
  call.outputs = outputs.data();
  call.output_count = static_cast<std::uint32_t>(outputs.size());
}
inline void set_states(tenon_call& call, std::span<tenon_tensor* const> states) {
  call.states = states.data();
  call.state_count = static_cast<std::uint32_t>(states.size());
}
inline void set_workspace(tenon_call& call, std::span<std::byte> workspace) {
  call.workspace = workspace.data();
  call.workspace_size = workspace.size();
}

/// The plugin function that a dispatch (enum tenon_dispatch) calls.
inline PluginFunction called_by(std::int32_t dispatch) {
  return is_backward(dispatch) ? PluginFunction::backward : PluginFunction::forward;
}

}  // namespace tenon

// A kernel's call, filled in one place for steps of plans and for calls outside of graphs.
#pragma once
#include <span>

#include "graph/instance.hpp"
#include "plan/lowering.hpp"
#include "tensor/call_context.hpp"
#include "tensor/kernel_function.hpp"

namespace tenon {

/// What all calls of one plan, or of one prepared call, share.
struct CallEnvironment {
  const tenon_host* host;
  CallContext& context;
  tenon_error& error;
  bool training = false;
  std::uint64_t seed = 0;
};

/// Null stands for what is not connected or not wanted. Gradients are backward's alone.
struct CallArguments {
  std::span<const tenon_tensor* const> inputs;
  std::span<tenon_tensor*const> outputs, states;
  const tenon_tensor* const* output_grads = nullptr;
  tenon_tensor* const* input_grads = nullptr;
  const std::uint8_t* writes = nullptr;  ///< enum tenon_write of each output; in backward, of each input gradient
};

struct Workspace {
  void* data = nullptr;
  std::uint64_t bytes = 0;
};

/// `dispatch`: enum tenon_dispatch. Stream, fault word, node and step are set where there are any.
inline tenon_call make_call(const CallEnvironment& environment, std::int32_t dispatch, const CallArguments& arguments,
                            const Workspace& workspace) {
  tenon_call call{};
  call.size = sizeof call;
  call.host = environment.host;
  call.context = &environment.context;
  call.error = &environment.error;
  call.input_count = static_cast<std::uint32_t>(arguments.inputs.size());
  call.output_count = static_cast<std::uint32_t>(arguments.outputs.size());
  call.state_count = static_cast<std::uint32_t>(arguments.states.size());
  call.flags = environment.training ? TENON_CALL_TRAINING : 0;
  call.inputs = arguments.inputs.data();
  call.outputs = arguments.outputs.data();
  call.states = arguments.states.data();
  call.output_grads = arguments.output_grads;
  call.input_grads = arguments.input_grads;
  call.writes = arguments.writes;
  call.workspace = workspace.data;
  call.workspace_size = workspace.bytes;
  call.seed = environment.seed;
  call.threads = environment.context.threads.count();
  call.dispatch = dispatch;
  return call;
}

/// The plugin's function behind a dispatch (enum tenon_dispatch).
inline PluginFunction called_by(std::int32_t dispatch) {
  return is_backward(dispatch) ? PluginFunction::backward : PluginFunction::forward;
}

}  // namespace tenon

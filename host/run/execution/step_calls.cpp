#include "run/execution/step_calls.hpp"

#include <algorithm>
#include <cstdio>

#include "graph/initialize.hpp"

namespace tenon {
namespace {

std::int32_t refuse_sparse(tenon_error& error, std::uint32_t output, const char* what) {
  error.kind = TENON_ERROR_FAILED;
  std::snprintf(error.text, error.capacity,
                "its kernel violated a rule of sparse tensors in output %u: %s", output, what);
  return 1;
}

std::int32_t refuse_unallocated(tenon_error& error, std::uint32_t output) {
  error.kind = TENON_ERROR_FAILED;
  std::snprintf(error.text, error.capacity, "%s", not_allocated(output).c_str());
  return 1;
}

std::string_view name_of_node(const Plan& plan, std::size_t step) {
  return plan.model().strings[plan.node(step).name];
}

std::size_t name_bytes(const Plan& plan) {
  std::size_t bytes = 0;
  for (std::size_t step = 0; step < plan.step_count(); ++step)
    bytes += name_of_node(plan, step).size() + 1;
  return bytes;
}

}  // namespace

StepCalls::StepCalls(const Plan& plan, const Kernels& kernels, PlanTensors& tensors,
                     std::deque<CopyStep>& copies, CallContext& context)
    : plan_(plan),
      tensors_(tensors),
      copies_(copies),
      writes_(plan.memory.writes),
      records_(plan.step_count(), name_bytes(plan)) {
  const auto& model = plan.model();
  std::size_t pointer_count = 0, unread_count = 0;
  for (std::size_t step = 0; step < plan.step_count(); ++step) {
    const auto& node = plan.node(step);
    const auto& forward = forward_of(model, node);
    pointer_count += node.input_count + forward.state_count + node.output_count;
    if (node.pass == Pass::backward) unread_count += forward.input_count + forward.output_count;
  }
  pointers_.reserve(pointer_count);
  unread_.reserve(unread_count);
  calls_.reserve(plan.step_count());
  steps_.reserve(plan.step_count());
  for (const auto& group : plan.graph.groups)
    fused_steps_.emplace_back(plan, group, kernels, context);
  for (std::size_t step = 0; step < plan.step_count(); ++step) {
    const auto& node = plan.node(step);
    const bool backward = node.pass == Pass::backward;
    auto& call =
        calls_.emplace_back(make_call(context, dispatch_of(backward, plan.runs_sparse(step))));
    backward ? set_backward_tensors(node, call) : set_forward_tensors(node, call);
    call.writes = writes_.data() + plan.memory.first_write[step];
    set_workspace(call, tensors_.workspace(step));
    call.node = random_stream_of(
        model.strings[node.origin == none ? node.name : model.nodes[node.origin].name]);
    if (plan.operator_of(plan.node_of(step)).info->random) random_calls_.push_back(&call);
    steps_.push_back(make_step(step, kernels));
    steps_.back().running = running(step, kernels);
  }
}

Step StepCalls::make_step(std::size_t step, const Kernels& kernels) {
  auto& call = calls_[step];
  if (const auto group = plan_.group_of(step); group != none)
    return {FusedStep::run, &fused_steps_[group], &call};
  if (const auto copy = plan_.copy_of(step); copy != none)
    return {CopyStep::run, &copies_[copy], &call};
  const auto& node = plan_.node(step);
  const auto& kernel = plan_.graph.kernel_of(plan_.node_of(step), kernels);
  const auto function = function_of(*kernel.table(), call.dispatch);
  const auto first = plan_.types().begin() + node.first_output;
  const auto is_dense = [](const tenon_type& type) { return type.storage == TENON_DENSE; };
  if (std::all_of(first, first + node.output_count, is_dense))
    return {function, kernel.get(), &call};
  return {run_sparse, &sparse_steps_.emplace_back(SparseStep{function, kernel.get(), &*first}),
          &call};
}

const ActiveCall* StepCalls::running(std::size_t step, const Kernels& kernels) {
  const auto* owner = plan_.group_of(step) != none ? code_owner("fused_elementwise", "")
                      : plan_.copy_of(step) != none
                          ? code_owner("copy", "")
                          : plan_.graph.kernel_of(plan_.node_of(step), kernels).owner();
  return records_.add(owner, name_of_node(plan_, step), called_by(calls_[step].dispatch));
}

std::int32_t StepCalls::run_sparse(void* step, const tenon_call* call) {
  const auto& [function, instance, planned] = *static_cast<SparseStep*>(step);
  const bool backward = call->dispatch == TENON_BACKWARD_SPARSE;
  auto* const* outputs = backward ? call->input_grads : call->outputs;
  const auto count = backward ? call->input_count : call->output_count;
  const auto each = [&, planned = planned](auto&& visit) -> std::int32_t {
    for (std::uint32_t i = 0; i < count; ++i)
      if (outputs[i] != nullptr && planned[i].storage != TENON_DENSE)
        if (const auto failed = visit(i, *outputs[i])) return failed;
    return 0;
  };
  each([planned = planned](std::uint32_t i, tenon_tensor& output) {
    if (planned[i].storage == TENON_STORAGE_UNKNOWN)
      expect_allocation(output, planned[i]);
    else
      output.stored = -1;
    return 0;
  });
  if (const auto failed = function(instance, call)) return failed;
  return each([&](std::uint32_t i, const tenon_tensor& output) {
    if (output.storage == TENON_STORAGE_UNKNOWN) return refuse_unallocated(*call->error, i);
    if (output.stored < 0) return refuse_sparse(*call->error, i, "it was not allocated");
    const auto fault = sparse_fault(output);
    return fault.empty() ? 0 : refuse_sparse(*call->error, i, fault.c_str());
  });
}

// `make` returns the i-th tensor, or null if it is not connected.
template <class Make>
std::span<tenon_tensor* const> StepCalls::add_pointers(std::uint32_t count, Make make) {
  auto* const* first = pointers_.data() + pointers_.size();
  for (std::uint32_t i = 0; i < count; ++i) pointers_.push_back(make(i));
  return {first, count};
}

void StepCalls::set_forward_tensors(const NodeRecord& node, tenon_call& call) {
  const auto* edges = plan_.model().edges.data() + node.first_edge;
  set_inputs(call, add_pointers(node.input_count, [&](std::uint32_t i) {
               return edges[i] == none ? nullptr : &tensors_[edges[i]];
             }));
  set_states(call, add_pointers(node.state_count, [&](std::uint32_t i) {
               return &tensors_[edges[node.input_count + i]];
             }));
  set_outputs(call, add_pointers(node.output_count, [&](std::uint32_t i) {
                return &tensors_[node.first_output + i];
              }));
}

// Inputs and outputs that backward did not declare carry types without elements; reading them is an
// error.
void StepCalls::set_backward_tensors(const NodeRecord& node, tenon_call& call) {
  const auto& model = plan_.model();
  const auto& forward = model.nodes[node.origin];
  const auto* edges = model.edges.data() +
                      node.first_edge;  // output gradients, forward's inputs, forward's outputs
  const auto* inputs = model.edges.data() + forward.first_edge;
  const auto read = [&](ValueId edge, ValueId original) {
    if (edge != none || original == none) return edge == none ? nullptr : &tensors_[edge];
    return &unread_.emplace_back(tensor_of(tensors_.type(original), TENON_STORAGE_UNKNOWN));
  };
  call.output_grads = add_pointers(forward.output_count, [&](std::uint32_t i) {
                        return edges[i] == none ? nullptr : &tensors_[edges[i]];
                      }).data();
  edges += forward.output_count;
  set_inputs(call, add_pointers(forward.input_count,
                                [&](std::uint32_t i) { return read(edges[i], inputs[i]); }));
  edges += forward.input_count;
  set_outputs(call, add_pointers(forward.output_count, [&](std::uint32_t i) {
                return read(edges[i], forward.first_output + i);
              }));
  set_states(call, add_pointers(forward.state_count, [&](std::uint32_t i) {
               return &tensors_[inputs[forward.input_count + i]];
             }));
  call.input_grads = add_pointers(node.output_count, [&](std::uint32_t i) {
                       const auto value = node.first_output + i;
                       return plan_.memory.readers[value] == 0 ? nullptr : &tensors_[value];
                     }).data();
}

NodeId StepCalls::failed_node(std::size_t step) const {
  const auto group = plan_.group_of(step);
  return group == none ? plan_.node_of(step) : fused_steps_[group].failed();
}

void StepCalls::set_step(std::uint64_t step) {
  for (auto* call : random_calls_) call->step = step;
}

void StepCalls::set_seed(std::uint64_t seed) {
  for (auto* call : random_calls_) call->seed = seed;
}

}  // namespace tenon

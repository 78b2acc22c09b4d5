// The tensors and calls of a plan's steps.
#include <algorithm>
#include <cstdio>

#include "plan/plan.hpp"

namespace tenon {
namespace {

// The same name gives the same random numbers wherever the node stands (FNV-1a, 64 bits).
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::int32_t refuse(tenon_error& error, std::uint32_t output, const char* what) {
  error.kind = TENON_ERROR_FAILED;
  std::snprintf(error.text, error.capacity, "its kernel broke a rule of sparse tensors in output %u: %s", output, what);
  return 1;
}

}  // namespace

void Plan::make_tensors(const TensorTable& given) {
  const auto& model = graph_.model();
  tensors_.resize(model.values.size());
  for (ValueId value = 0; value < tensors_.size(); ++value) {
    if (!is_known(memory_.types[value])) continue;
    auto& tensor = tensors_[value] = tensor_of(memory_.types[value], memory_.types[value].storage);
    tensor.dense.device_type = graph_.places[value]->type();
    tensor.dense.device_id = graph_.places[value]->id();
    const auto updated = memory_.updated.find(value);
    const auto stored = updated == memory_.updated.end() ? value : updated->second;
    if (const auto buffer = memory_.buffer_of[memory_.root[value]]; buffer != none && model.values[value].role == Role::output)
      tensor.dense.data = memory_at(buffer);
    else if (stored < given.size() && given[stored])
      set_tensor(value, given[stored].abi());
  }
}

void Plan::make_copies(Streams& streams) {
  for (const auto& copy : graph_.copies)
    copies_.emplace_back(*graph_.places[copy.value], tensors_[copy.value], *graph_.places[copy.copy], tensors_[copy.copy],
                         stream_of(copy, streams), sparse_memory_);
}

void Plan::make_calls(Kernels& kernels, const PlanContext& context) {
  const auto& model = graph_.model();
  std::size_t pointer_count = 0, type_count = 0;
  for (const auto id : memory_.order) {
    const auto& node = model.nodes[id];
    const auto& forward = forward_of(model, node);
    pointer_count += node.input_count + forward.state_count + node.output_count;
    if (node.pass == Pass::backward) type_count += forward.input_count + forward.output_count;
  }
  pointers_.resize(pointer_count);
  unread_.reserve(type_count);
  calls_.resize(memory_.order.size());
  steps_.reserve(memory_.order.size());
  sparse_steps_.reserve(static_cast<std::size_t>(std::count(graph_.sparse.begin(), graph_.sparse.end(), true)));
  next_pointer_ = pointers_.data();
  const auto* writes = memory_.writes.data();
  for (std::uint32_t step = 0; step < memory_.order.size(); ++step) {
    const auto id = memory_.order[step];
    const auto& node = model.nodes[id];
    const bool backward = node.pass == Pass::backward;
    auto& call = calls_[step];
    call.size = sizeof call;
    call.host = context.host;
    call.context = &call_context_;
    call.error = &error_.error;
    call.threads = context.threads->count();
    call.flags = context.training ? TENON_CALL_TRAINING : 0;
    call.seed = context.seed;
    call.node = hash_of(model.strings[node.origin == none ? node.name : model.nodes[node.origin].name]);
    call.dispatch = dispatch_of(backward, graph_.sparse[id]);
    backward ? connect_backward(model, node, call) : connect_forward(model, node, call);
    call.writes = writes;
    writes += node.output_count;
    if (memory_.workspace_buffer[step] != none) {
      call.workspace = memory_at(memory_.workspace_buffer[step]);
      call.workspace_size = memory_.workspace_bytes[step];
    }
    if (graph_.binding().nodes[id].op->info->random) random_calls_.push_back(&call);
    steps_.push_back(make_step(id, kernels.of(model, id, *graph_.devices[id]), call));
  }
}

Step Plan::make_step(NodeId id, const Instance& kernel, tenon_call& call) {
  if (graph_.copies_at(id)) return {CopyStep::run, &copies_[graph_.copy_of[id]], &call};
  const auto& node = graph_.model().nodes[id];
  const auto& table = *kernel.table();
  const bool backward = node.pass == Pass::backward;
  if (!graph_.sparse[id]) return {backward ? table.backward : table.forward, kernel.get(), &call};
  const auto function = backward ? table.backward_sparse : table.forward_sparse;
  const auto first = memory_.types.begin() + node.first_output;
  if (std::all_of(first, first + node.output_count, [](const tenon_type& type) { return type.storage == TENON_DENSE; }))
    return {function, kernel.get(), &call};
  sparse_steps_.push_back({function, kernel.get()});
  return {run_sparse, &sparse_steps_.back(), &call};
}

std::int32_t Plan::run_sparse(void* step, const tenon_call* call) {
  const auto& [function, instance] = *static_cast<SparseStep*>(step);
  const bool backward = call->dispatch == TENON_BACKWARD_SPARSE;
  auto* const* outputs = backward ? call->input_grads : call->outputs;
  const auto count = backward ? call->input_count : call->output_count;
  const auto each = [&](auto&& visit) -> std::int32_t {
    for (std::uint32_t i = 0; i < count; ++i)
      if (outputs[i] != nullptr && outputs[i]->storage != TENON_DENSE)
        if (const auto failed = visit(i, *outputs[i])) return failed;
    return 0;
  };
  each([](std::uint32_t, tenon_tensor& output) {
    output.stored = -1;
    return 0;
  });
  if (const auto failed = function(instance, call)) return failed;
  return each([&](std::uint32_t i, const tenon_tensor& output) {
    if (output.stored < 0) return refuse(*call->error, i, "it was not allocated");
    const auto fault = sparse_fault(output);
    return fault.empty() ? 0 : refuse(*call->error, i, fault.c_str());
  });
}

void Plan::connect_forward(const GraphModel& model, const NodeRecord& node, tenon_call& call) {
  const auto* edges = model.edges.data() + node.first_edge;
  call.input_count = node.input_count;
  call.state_count = node.state_count;
  call.output_count = node.output_count;
  call.inputs = next_pointer_;
  for (std::uint32_t i = 0; i < node.input_count; ++i) *next_pointer_++ = edges[i] == none ? nullptr : &tensors_[edges[i]];
  call.states = next_pointer_;
  for (std::uint32_t i = 0; i < node.state_count; ++i) *next_pointer_++ = &tensors_[edges[node.input_count + i]];
  call.outputs = next_pointer_;
  for (std::uint32_t i = 0; i < node.output_count; ++i) *next_pointer_++ = &tensors_[node.first_output + i];
}

// Inputs and outputs that backward did not declare come without elements: their types can be asked for, reading them is an error.
void Plan::connect_backward(const GraphModel& model, const NodeRecord& node, tenon_call& call) {
  const auto& forward = model.nodes[node.origin];
  const auto* edges = model.edges.data() + node.first_edge;
  const auto* inputs = model.edges.data() + forward.first_edge;
  const auto given = [&](ValueId edge, ValueId original) {
    if (edge != none || original == none) return edge == none ? nullptr : &tensors_[edge];
    return &unread_.emplace_back(tensor_of(memory_.types[original], TENON_STORAGE_UNKNOWN));
  };
  call.input_count = forward.input_count;
  call.state_count = forward.state_count;
  call.output_count = forward.output_count;
  call.output_grads = next_pointer_;
  for (std::uint32_t i = 0; i < forward.output_count; ++i, ++edges) *next_pointer_++ = *edges == none ? nullptr : &tensors_[*edges];
  call.inputs = next_pointer_;
  for (std::uint32_t i = 0; i < forward.input_count; ++i, ++edges) *next_pointer_++ = given(*edges, inputs[i]);
  call.outputs = next_pointer_;
  for (std::uint32_t i = 0; i < forward.output_count; ++i, ++edges) *next_pointer_++ = given(*edges, forward.first_output + i);
  call.states = next_pointer_;
  for (std::uint32_t i = 0; i < forward.state_count; ++i) *next_pointer_++ = &tensors_[inputs[forward.input_count + i]];
  call.input_grads = next_pointer_;
  for (std::uint32_t i = 0; i < node.output_count; ++i) {
    const auto value = node.first_output + i;
    *next_pointer_++ = memory_.readers[value] == 0 ? nullptr : &tensors_[value];
  }
}

}  // namespace tenon

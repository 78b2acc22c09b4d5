// The tensors and calls of a plan's steps.
#include "plan/plan.hpp"

namespace tenon {
namespace {

// The same name gives the same random numbers wherever the node stands (FNV-1a, 64 bits).
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

void set_dlpack_dtype(tenon_dense& dense, std::uint8_t dtype) {
  static constexpr std::uint8_t codes[] = {6, 1, 0, 0, 0, 2, 4, 2, 2};
  dense.type_code = codes[dtype];
  dense.type_bits = static_cast<std::uint8_t>(8 * size_of(static_cast<DType>(dtype)));
  dense.type_lanes = 1;
}

tenon_tensor tensor_of(tenon_type& type, std::uint8_t storage) {
  tenon_tensor tensor{};
  tensor.size = sizeof tensor;
  tensor.dtype = type.dtype;
  tensor.storage = storage;
  tensor.dense.device_type = TENON_CPU;
  tensor.dense.ndim = type.rank;
  tensor.dense.shape = type.dims;
  set_dlpack_dtype(tensor.dense, type.dtype);
  return tensor;
}

}  // namespace

void Plan::make_tensors(const GraphModel& model) {
  tensors_.resize(model.values.size());
  auto* arena = static_cast<std::byte*>(arena_.data());
  for (ValueId value = 0; value < tensors_.size(); ++value) {
    if (!is_known(memory_.types[value])) continue;
    auto& tensor = tensors_[value] = tensor_of(memory_.types[value], TENON_DENSE);
    const auto updated = memory_.updated.find(value);
    const auto stored = model.values[updated == memory_.updated.end() ? value : updated->second].tensor;
    if (const auto block = memory_.block_of[memory_.root[value]]; block != none && model.values[value].role == Role::output)
      tensor.dense.data = arena + memory_.placement.offsets[block];
    else if (stored != none)
      tensor.dense.data = model.tensors[stored].data();
  }
}

void Plan::make_calls(const GraphModel& model, const Binding& binding, Kernels& kernels, const PlanContext& context) {
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
  next_pointer_ = pointers_.data();
  const auto* writes = memory_.writes.data();
  for (std::uint32_t step = 0; step < memory_.order.size(); ++step) {
    const auto id = memory_.order[step];
    const auto& node = model.nodes[id];
    const bool backward = node.pass == Pass::backward;
    auto& call = calls_[step];
    call.size = sizeof call;
    call.host = context.host;
    call.context = context.context;
    call.error = context.error;
    call.threads = context.threads;
    call.flags = context.training ? TENON_CALL_TRAINING : 0;
    call.seed = context.seed;
    call.node = hash_of(model.strings[node.origin == none ? node.name : model.nodes[node.origin].name]);
    call.dispatch = backward ? TENON_BACKWARD : TENON_FORWARD;
    backward ? connect_backward(model, node, call) : connect_forward(model, node, call);
    call.writes = writes;
    writes += node.output_count;
    if (memory_.workspace_block[step] != none) {
      call.workspace = static_cast<std::byte*>(arena_.data()) + memory_.placement.offsets[memory_.workspace_block[step]];
      call.workspace_size = memory_.workspace_bytes[step];
    }
    if (binding.nodes[id].op->info->random) random_calls_.push_back(&call);
    const auto& kernel = kernels.of(model, id);
    steps_.push_back({backward ? kernel.table()->backward : kernel.table()->forward, kernel.get(), &call});
  }
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

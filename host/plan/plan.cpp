#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "graph/inference.hpp"

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

void require_tensor(const GraphModel& model, NodeId id, ValueId value) {
  const auto& record = model.values[value];
  if (record.role == Role::output || record.role == Role::input || record.tensor != none) return;
  throw Failure(FailureKind::failed,
                fmt::format("{}: '{}' is {} and has no values", node_label(model, id), value_label(model, value), to_string(record.type)));
}

void require_known(const GraphModel& model, const Binding& binding, NodeId id, const std::vector<tenon_type>& types) {
  const auto& node = model.nodes[id];
  for (std::uint32_t i = 0; i < node.output_count + node.input_count; ++i) {
    const bool output = i < node.output_count;
    const auto value = output ? node.first_output + i : model.edges[node.first_edge + i - node.output_count];
    if (value == none) continue;
    require_tensor(model, id, value);
    if (is_known(types[value]) && byte_count(types[value]) >= 0) continue;
    const auto& info = *binding.nodes[id].op->info;
    const bool overflow = is_known(types[value]);
    throw Failure(FailureKind::failed,
                  fmt::format("{}: {} {} is {}{}", node_label(model, id), output ? "output" : "input", value_label(model, value),
                              to_string(types[value]), overflow ? ", more than memory can hold" : ", which is not enough to run it"),
                  overflow ? ""
                           : fmt::format("give the missing dimensions or dtypes at the graph's inputs and variables; {} takes {} inputs",
                                         info.name, info.inputs.size()));
  }
}

}  // namespace

std::vector<tenon_type> infer_with(const GraphModel& model, const Binding& binding, const std::map<ValueId, tenon_type>& inputs) {
  std::vector<tenon_type> types(model.values.size());
  std::transform(model.values.begin(), model.values.end(), types.begin(), [](const ValueRecord& value) { return value.type; });
  for (const auto& [value, type] : inputs)
    if (merge(types[value], type) == Merge::contradiction)
      throw Failure(FailureKind::failed, fmt::format("input '{}' is {} but the graph needs {}", value_label(model, value), to_string(type),
                                                     to_string(model.values[value].type)));
  Inference(model, binding, TypeTable(types)).run();
  return types;
}

Plan::Plan(const GraphModel& model, const Binding& binding, Kernels& kernels, const PlanContext& context, std::vector<tenon_type> types)
    : types_(std::move(types)) {
  choose_order(model, context.training);
  for (const auto id : order_) require_known(model, binding, id, types_);
  find_last_uses(model);
  find_blocks(model, binding);
  add_workspaces(model, binding, kernels);
  placement_ = place(blocks_);
  arena_ = Tensor::empty(DType::u8, {std::max<std::int64_t>(placement_.bytes, memory_alignment)});
  make_tensors(model);
  make_calls(model, binding, kernels, context);
}

// Only what the outputs need runs; in training, nodes that keep states as well.
void Plan::choose_order(const GraphModel& model, bool training) {
  std::vector<bool> needed(model.nodes.size());
  const auto need = [&](ValueId value) {
    if (value != none && model.values[value].producer != none) needed[model.values[value].producer] = true;
  };
  for (const auto& [name, value] : model.outputs) need(value);
  for (auto id = static_cast<NodeId>(model.nodes.size()); id-- > 0;) {
    const auto& node = model.nodes[id];
    if (training && node.state_count > 0) needed[id] = true;
    if (!needed[id]) continue;
    for (std::uint32_t i = 0; i < node.input_count; ++i) need(model.edges[node.first_edge + i]);
  }
  for (NodeId id = 0; id < model.nodes.size(); ++id)
    if (needed[id]) order_.push_back(id);
}

void Plan::find_last_uses(const GraphModel& model) {
  last_use_.assign(model.values.size(), none);
  for (std::uint32_t step = 0; step < order_.size(); ++step) {
    const auto& node = model.nodes[order_[step]];
    for (std::uint32_t i = 0; i < node.output_count; ++i) last_use_[node.first_output + i] = step;
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (const auto value = model.edges[node.first_edge + i]; value != none) last_use_[value] = step;
  }
}

void Plan::find_blocks(const GraphModel& model, const Binding& binding) {
  block_of_.assign(model.values.size(), none);
  std::vector<bool> given_out(model.values.size());
  for (const auto& [name, value] : model.outputs) given_out[value] = true;
  for (std::uint32_t step = 0; step < order_.size(); ++step) {
    const auto& node = model.nodes[order_[step]];
    for (std::uint32_t i = 0; i < node.output_count; ++i) {
      const auto value = node.first_output + i;
      const bool reused = !given_out[value] && reuse_input(model, *binding.nodes[order_[step]].op->info, step, node, i);
      writes_.push_back(reused ? TENON_WRITE_IN_PLACE : TENON_WRITE_TO);
      if (reused || given_out[value]) continue;
      block_of_[value] = static_cast<std::uint32_t>(blocks_.size());
      blocks_.push_back({byte_count(types_[value]), step, last_use_[value]});
    }
  }
}

// An output may take over the memory of an input that it was declared in place with, that nobody reads later, and that is the plan's own.
bool Plan::reuse_input(const GraphModel& model, const OperatorInfo& info, std::uint32_t step, const NodeRecord& node,
                       std::uint32_t output) {
  const auto* edges = model.edges.data() + node.first_edge;
  for (const auto& [input, wanted] : info.inplace) {
    const auto i = static_cast<std::uint32_t>(input);
    if (static_cast<std::uint32_t>(wanted) != output || i >= node.input_count || edges[i] == none) continue;
    const auto value = edges[i];
    if (block_of_[value] == none || last_use_[value] != step || std::count(edges, edges + node.input_count, value) != 1) continue;
    const auto &from = types_[value], &to = types_[node.first_output + output];
    if (from.dtype != to.dtype || byte_count(from) != byte_count(to)) continue;
    if (info.elementwise && (from.rank != to.rank || !std::equal(from.dims, from.dims + from.rank, to.dims))) continue;
    auto& block = blocks_[block_of_[value]];
    const auto* earlier = block_of_.data() + node.first_output;
    if (std::count(earlier, earlier + output, block_of_[value]) != 0) continue;  // another output has taken it
    block_of_[node.first_output + output] = block_of_[value];
    block.last = last_use_[node.first_output + output];
    return true;
  }
  return false;
}

void Plan::add_workspaces(const GraphModel& model, const Binding& binding, const Kernels& kernels) {
  OperatorTypes types;
  workspace_block_.assign(order_.size(), none);
  workspace_bytes_.assign(order_.size(), 0);
  for (std::uint32_t step = 0; step < order_.size(); ++step) {
    const auto id = order_[step];
    const auto& kernel = kernels.nodes[id];
    if (kernel.table()->workspace == nullptr) continue;
    const auto& node = model.nodes[id];
    gather_types(model, node, TypeTable(types_), types);
    workspace_bytes_[step] = at_node(model, id, [&] { return workspace_bytes(*binding.nodes[id].op->info, kernel, TENON_FORWARD, types); });
    if (workspace_bytes_[step] == 0) continue;
    workspace_block_[step] = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back({static_cast<std::int64_t>(workspace_bytes_[step]), step, step});
  }
}

void Plan::make_tensors(const GraphModel& model) {
  tensors_.resize(model.values.size());
  auto* arena = static_cast<std::byte*>(arena_.data());
  for (ValueId value = 0; value < tensors_.size(); ++value) {
    auto& type = types_[value];
    if (!is_known(type)) continue;
    auto& tensor = tensors_[value];
    tensor.size = sizeof tensor;
    tensor.dtype = type.dtype;
    tensor.storage = TENON_DENSE;
    tensor.dense.device_type = TENON_CPU;
    tensor.dense.ndim = type.rank;
    tensor.dense.shape = type.dims;
    set_dlpack_dtype(tensor.dense, type.dtype);
    if (block_of_[value] != none)
      tensor.dense.data = arena + placement_.offsets[block_of_[value]];
    else if (model.values[value].tensor != none)
      tensor.dense.data = model.tensors[model.values[value].tensor].data();
  }
}

void Plan::make_calls(const GraphModel& model, const Binding& binding, Kernels& kernels, const PlanContext& context) {
  std::size_t pointer_count = 0;
  for (const auto id : order_) pointer_count += model.nodes[id].input_count + model.nodes[id].state_count + model.nodes[id].output_count;
  pointers_.resize(pointer_count);
  calls_.resize(order_.size());
  steps_.reserve(order_.size());
  auto** next = pointers_.data();
  const auto* writes = writes_.data();
  for (std::uint32_t step = 0; step < order_.size(); ++step) {
    const auto id = order_[step];
    const auto& node = model.nodes[id];
    auto& call = calls_[step];
    call.size = sizeof call;
    call.host = context.host;
    call.context = context.context;
    call.error = context.error;
    call.threads = context.threads;
    call.flags = context.training ? TENON_CALL_TRAINING : 0;
    call.seed = context.seed;
    call.node = hash_of(model.strings[node.name]);
    call.dispatch = TENON_FORWARD;
    call.input_count = node.input_count;
    call.state_count = node.state_count;
    call.output_count = node.output_count;
    const auto* edges = model.edges.data() + node.first_edge;
    call.inputs = next;
    for (std::uint32_t i = 0; i < node.input_count; ++i) *next++ = edges[i] == none ? nullptr : &tensors_[edges[i]];
    call.states = next;
    for (std::uint32_t i = 0; i < node.state_count; ++i) *next++ = &tensors_[edges[node.input_count + i]];
    call.outputs = next;
    for (std::uint32_t i = 0; i < node.output_count; ++i) *next++ = &tensors_[node.first_output + i];
    call.writes = writes;
    writes += node.output_count;
    if (workspace_block_[step] != none) {
      call.workspace = static_cast<std::byte*>(arena_.data()) + placement_.offsets[workspace_block_[step]];
      call.workspace_size = workspace_bytes_[step];
    }
    if (binding.nodes[id].op->info->random) random_calls_.push_back(&call);
    steps_.push_back({kernels.nodes[id].table()->forward, kernels.nodes[id].get(), &call});
  }
}

std::int64_t Plan::offset_of(ValueId value) const {
  return block_of_[value] == none ? -1 : placement_.offsets[block_of_[value]];
}

void Plan::set_step(std::uint64_t step) {
  for (auto* call : random_calls_) call->step = step;
}

}  // namespace tenon

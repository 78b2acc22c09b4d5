#include "plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/inference.hpp"

namespace tenon {
namespace {

void require_tensor(const GraphModel& model, NodeId id, ValueId value) {
  const auto& record = model.values[value];
  if (record.role == Role::output || record.role == Role::input || record.tensor != none) return;
  throw Failure(FailureKind::failed,
                fmt::format("{}: '{}' is {} and has no values", node_label(model, id), value_label(model, value), to_string(record.type)));
}

void require_known(const GraphModel& model, const Binding& binding, NodeId id, const std::vector<tenon_type>& types,
                   const std::vector<std::uint32_t>& readers) {
  const auto& node = model.nodes[id];
  for (std::uint32_t i = 0; i < node.output_count + node.input_count; ++i) {
    const bool output = i < node.output_count;
    const auto value = output ? node.first_output + i : model.edges[node.first_edge + i - node.output_count];
    if (value == none || (output && node.pass == Pass::backward && readers[value] == 0)) continue;
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
  count_readers(model, context.training);
  for (const auto id : order_) {
    require_known(model, binding, id, types_, readers_);
    if (model.nodes[id].pass == Pass::backward) require_known(model, binding, model.nodes[id].origin, types_, readers_);
  }
  fold(model, binding);
  find_last_uses(model);
  if (context.training) find_updates(model, binding);
  find_blocks(model, binding);
  add_workspaces(model, binding, kernels);
  placement_ = place(blocks_);
  arena_ = Tensor::empty(DType::u8, {std::max<std::int64_t>(placement_.bytes, memory_alignment)});
  make_tensors(model);
  make_calls(model, binding, kernels, context);
}

// Only what the outputs need runs; in training, nodes that keep states and what variables are updated with as well.
void Plan::choose_order(const GraphModel& model, bool training) {
  std::vector<bool> needed(model.nodes.size());
  const auto need = [&](ValueId value) {
    if (value != none && model.values[value].producer != none) needed[model.values[value].producer] = true;
  };
  for (const auto& [name, value] : model.outputs) need(value);
  if (training)
    for (const auto& [variable, value] : model.updates) need(value);
  for (auto id = static_cast<NodeId>(model.nodes.size()); id-- > 0;) {
    const auto& node = model.nodes[id];
    if (training && node.state_count > 0) needed[id] = true;
    if (!needed[id]) continue;
    for (std::uint32_t i = 0; i < node.input_count; ++i) need(model.edges[node.first_edge + i]);
  }
  for (NodeId id = 0; id < model.nodes.size(); ++id)
    if (needed[id]) order_.push_back(id);
}

void Plan::count_readers(const GraphModel& model, bool training) {
  readers_.assign(model.values.size(), 0);
  given_out_.assign(model.values.size(), false);
  for (const auto id : order_) {
    const auto& node = model.nodes[id];
    for (std::uint32_t i = 0; i < node.input_count; ++i)
      if (const auto value = model.edges[node.first_edge + i]; value != none) ++readers_[value];
  }
  for (const auto& [name, value] : model.outputs) {
    ++readers_[value];
    given_out_[value] = true;
  }
  if (training)
    for (const auto& [variable, value] : model.updates) ++readers_[value];
}

std::int64_t Plan::offset_of(ValueId value) const {
  const auto block = block_of_[root_[value]];
  return block == none ? -1 : placement_.offsets[block];
}

void Plan::set_data(ValueId value, void* data) {
  tensors_[value].dense.data = data;
  for (const auto& [root, member] : members_)
    if (root == value) tensors_[member].dense.data = data;
}

bool Plan::can_add(ValueId output) const {
  const auto found = given_out_writes_.find(output);
  return found != given_out_writes_.end() && found->second.adds;
}

void Plan::set_add(ValueId output, bool add) {
  writes_[given_out_writes_.at(output).write] = add ? TENON_WRITE_ADD : TENON_WRITE_TO;
}

void Plan::set_step(std::uint64_t step) {
  for (auto* call : random_calls_) call->step = step;
}

}  // namespace tenon

#include "run/session/plan_store.hpp"

#include <algorithm>
#include <cstring>

#include "run/session/memory_need.hpp"

namespace tenon {

static void append_elements(PlanStore::Key& key, const tenon_tensor& tensor) {
  const auto bytes = byte_count(
      type_of(static_cast<DType>(tensor.dtype), Shape(tensor.dense.shape, tensor.dense.ndim)));
  const auto first = key.size();
  key.resize(first + static_cast<std::size_t>(bytes + 7) / 8);
  if (bytes > 0)
    std::memcpy(key.data() + first,
                static_cast<const std::byte*>(tensor.dense.data) + tensor.dense.byte_offset,
                static_cast<std::size_t>(bytes));
}

PlanStore::Key PlanStore::key_of(const Stage& stage, bool fused,
                                 const std::map<ValueId, tenon_type>& inputs,
                                 const std::map<ValueId, Device*>& devices,
                                 const Inference::Elements& elements) {
  Key key{static_cast<std::int64_t>(stage.id), fused};
  for (const auto& [value, type] : inputs) {
    key.push_back(type.dtype << 16 | type.storage << 8 | (type.rank + 1));  // -1: unknown
    key.insert(key.end(), type.dims, type.dims + std::max<std::int32_t>(type.rank, 0));
  }
  for (const auto& [value, device] : devices)
    key.insert(key.end(), {value, device->type(), device->id()});
  for (const auto& [value, tensor] : elements) append_elements(key, *tensor);
  return key;
}

Planned* PlanStore::find(const Key& key) {
  const auto found = plans_.find(key);
  if (found == plans_.end()) return nullptr;
  found->second.used = ++uses_;
  return &found->second;
}

namespace {

std::uint64_t bytes_of(const PlanStore::Key& key) {
  return key.size() * sizeof key[0];
}

// Rough estimates of what is allocated for a graph, for a plan and its execution.
std::uint64_t bytes_of(const GraphModel& model) {
  constexpr std::uint64_t of_value =
      sizeof(ValueRecord) + 2 * sizeof(tenon_type) + sizeof(tenon_tensor) + 64;
  constexpr std::uint64_t of_node = sizeof(NodeRecord) + sizeof(Binding::Node) + 64;
  return model.values.size() * of_value + model.nodes.size() * of_node;
}

std::uint64_t bytes_of(const Planned& planned) {
  constexpr std::uint64_t of_step = sizeof(tenon_call) + sizeof(Step) + 64;
  const auto& plan = *planned.plan;
  std::uint64_t bytes = bytes_of(plan.model()) + plan.step_count() * of_step;
  for (const auto& [value, tensor] : planned.evaluated)
    bytes += static_cast<std::uint64_t>(tensor.bytes());
  return bytes;
}

}  // namespace

Planned& PlanStore::insert(Key key, Planned planned) {
  planned.bytes = bytes_of(key) + bytes_of(planned);
  while (!plans_.empty() && (plans_.size() >= capacity_ || bytes_ + planned.bytes > max_bytes_))
    drop(std::ranges::min_element(plans_, {}, [](const auto& plan) { return plan.second.used; }));
  ++made_;
  planned.used = ++uses_;
  bytes_ += planned.bytes;
  return plans_.insert_or_assign(std::move(key), std::move(planned)).first->second;
}

void PlanStore::drop(std::map<Key, Planned>::iterator plan) {
  if (&plan->second == last_) last_ = nullptr;
  bytes_ -= plan->second.bytes;
  plans_.erase(plan);
}

void PlanStore::refuse(Key key, std::shared_ptr<const Stage> fallback) {
  if (const auto plan = plans_.find(key); plan != plans_.end()) drop(plan);
  auto bytes = bytes_of(key);
  if (std::ranges::none_of(fallbacks_,
                           [&](const auto& each) { return each.second->graph == fallback->graph; }))
    bytes += bytes_of(fallback->model());
  if (fallbacks_.size() >= 16 * capacity_ ||
      fallback_bytes_ + bytes > max_bytes_ / 4) {  // a dropped entry costs one attempt at planning
    fallbacks_.clear();
    fallback_bytes_ = 0;
  }
  if (fallbacks_.insert_or_assign(std::move(key), std::move(fallback)).second)
    fallback_bytes_ += bytes;
}

std::shared_ptr<const Stage> PlanStore::fallback_for(const Key& key) const {
  const auto found = fallbacks_.find(key);
  return found == fallbacks_.end() ? nullptr : found->second;
}

template <class Predicate>
void PlanStore::drop_if(Predicate predicate) {
  for (auto plan = plans_.begin(); plan != plans_.end();)
    if (const auto each = plan++; predicate(each->second)) drop(each);
}

void PlanStore::drop(const SessionGraph& graph) {
  drop_if([&](const Planned& planned) { return planned.graph == &graph; });
}

namespace {

// Whether a step reads the value, or has it as a state.
bool uses(const Plan& plan, ValueId value) {
  if (plan.memory.readers[value] != 0) return true;
  const auto& model = plan.model();
  for (std::size_t step = 0; step < plan.step_count(); ++step) {
    const auto& node = forward_of(model, plan.node(step));
    const auto states = std::span(model.edges).subspan(node.first_edge + node.input_count);
    if (std::ranges::count(states.first(node.state_count), value) > 0) return true;
  }
  return false;
}

}  // namespace

void PlanStore::drop_users(std::span<const ValueId> values) {
  drop_if([&](const Planned& planned) {
    return std::ranges::any_of(values, [&](ValueId value) {
      return uses(*planned.plan, value) ||
             (planned.execution && planned.execution->tensor(value).dense.data != nullptr);
    });
  });
}

void PlanStore::make_execution(Planned& planned, ExecutionContext context,
                               const Destinations& destinations, std::uint64_t memory_limit) {
  const auto& plan = *planned.plan;
  const auto& graph = *planned.graph;
  const auto packed = plan.packed.empty() ? 0
                                          : PackedMemory(plan, graph.kernels, graph.tensors,
                                                         context.call.threads.count(),
                                                         context.constant_weights, context.session)
                                                .missing_bytes();
  require_memory(plan, arenas_, destinations, packed, memory_limit);
  if (!arenas_.fits(plan))
    grow_arenas(plan, *context.streams,
                has_spare_memory(plan, arenas_, destinations, packed, memory_limit));
  context.arenas = &arenas_;
  planned.execution =
      std::make_unique<Execution>(planned.plan, graph.kernels, graph.tensors, context);
}

Execution& PlanStore::execution_of(Planned& planned, const ExecutionContext& context,
                                   const Destinations& destinations, std::uint64_t memory_limit) {
  if (!planned.execution) make_execution(planned, context, destinations, memory_limit);
  if (last_ != nullptr && last_ != &planned) last_->execution->free_sparse();
  last_ = &planned;
  return *planned.execution;
}

// Executions use addresses of the arena that is replaced.
void PlanStore::grow_arenas(const Plan& plan, Streams& streams, bool spare) {
  last_ = nullptr;
  for (auto& [key, planned] : plans_) planned.execution.reset();
  arenas_.grow(plan, streams, spare);
}

}  // namespace tenon

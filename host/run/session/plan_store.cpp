#include "run/session/plan_store.hpp"

#include <algorithm>
#include <cstring>

#include "run/session/memory_need.hpp"

namespace tenon {

static void append_elements(PlanStore::Key& key, const tenon_tensor& tensor) {
  const auto bytes = byte_count(type_of(static_cast<DType>(tensor.dtype), Shape(tensor.dense.shape, tensor.dense.ndim)));
  const auto first = key.size();
  key.resize(first + static_cast<std::size_t>(bytes + 7) / 8);
  if (bytes > 0)
    std::memcpy(key.data() + first, static_cast<const std::byte*>(tensor.dense.data) + tensor.dense.byte_offset,
                static_cast<std::size_t>(bytes));
}

PlanStore::Key PlanStore::key_of(const Stage& stage, bool fused, const std::map<ValueId, tenon_type>& inputs,
                                 const std::map<ValueId, Device*>& devices, const Inference::Elements& elements) {
  Key key{static_cast<std::int64_t>(stage.id), fused};
  for (const auto& [value, type] : inputs) {
    key.push_back(type.dtype << 16 | type.storage << 8 | type.rank);
    key.insert(key.end(), type.dims, type.dims + type.rank);
  }
  for (const auto& [value, device] : devices) key.insert(key.end(), {value, device->type(), device->id()});
  for (const auto& [value, tensor] : elements) append_elements(key, *tensor);
  return key;
}

Planned* PlanStore::find(const Key& key) {
  const auto found = plans_.find(key);
  if (found == plans_.end()) return nullptr;
  found->second.used = ++uses_;
  return &found->second;
}

Planned& PlanStore::keep(Key key, Planned planned) {
  if (plans_.size() >= capacity_) {
    const auto oldest = std::min_element(plans_.begin(), plans_.end(),
                                         [](const auto& one, const auto& other) { return one.second.used < other.second.used; });
    if (&oldest->second == last_) last_ = nullptr;
    plans_.erase(oldest);
  }
  ++made_;
  planned.used = ++uses_;
  return plans_.insert_or_assign(std::move(key), std::move(planned)).first->second;
}

void PlanStore::refuse(Key key, std::shared_ptr<const Stage> instead) {
  if (refused_.size() >= 16 * capacity_) refused_.clear();  // each costs one attempt at planning
  refused_.insert_or_assign(std::move(key), std::move(instead));
}

std::shared_ptr<const Stage> PlanStore::stage_instead(const Key& key) const {
  const auto found = refused_.find(key);
  return found == refused_.end() ? nullptr : found->second;
}

void PlanStore::drop(const SessionGraph& graph) {
  if (last_ != nullptr && last_->graph == &graph) last_ = nullptr;
  std::erase_if(plans_, [&](const auto& plan) { return plan.second.graph == &graph; });
}

Execution& PlanStore::execution_of(Planned& planned, ExecutionContext context, const Destinations& destinations,
                                   std::uint64_t memory_limit) {
  if (!planned.execution) {
    const auto& plan = *planned.plan;
    const auto& graph = *planned.graph;
    const auto kept = plan.kept.empty() ? 0
                                        : KeptMemory(plan, graph.kernels, graph.tensors, context.call.threads.count(),
                                                     context.constant_weights, context.session)
                                              .missing_bytes();
    require_memory(plan, arenas_, destinations, kept, memory_limit);
    if (!arenas_.hold(plan)) {
      const auto spare = static_cast<std::uint64_t>(plan.memory.bytes() / Arenas::spare_part);
      make_room(plan, *context.streams, has_memory(plan, arenas_, destinations, kept + spare, memory_limit));
    }
    context.arenas = &arenas_;
    planned.execution = std::make_unique<Execution>(planned.plan, graph.kernels, graph.tensors, context);
  }
  if (last_ != nullptr && last_ != &planned) last_->execution->free_sparse();
  last_ = &planned;
  return *planned.execution;
}

// Executions use the addresses of the arena that goes.
void PlanStore::make_room(const Plan& plan, Streams& streams, bool spare) {
  last_ = nullptr;
  for (auto& [key, planned] : plans_) planned.execution.reset();
  arenas_.grow(plan, streams, spare);
}

}  // namespace tenon

#include "run/plan_cache.hpp"

#include <algorithm>

#include "run/memory_need.hpp"

namespace tenon {
Planned* PlanCache::find(const Key& key) {
  const auto found = plans_.find(key);
  if (found == plans_.end()) return nullptr;
  found->second.used = ++uses_;
  return &found->second;
}

Planned& PlanCache::keep(Key key, std::shared_ptr<const Plan> plan, std::shared_ptr<const Stage> later,
                         std::map<ValueId, Tensor> evaluated) {
  if (plans_.size() >= most_) {
    const auto oldest = std::min_element(plans_.begin(), plans_.end(),
                                         [](const auto& one, const auto& other) { return one.second.used < other.second.used; });
    if (&oldest->second == last_) last_ = nullptr;
    plans_.erase(oldest);
  }
  return plans_.emplace(std::move(key), Planned{std::move(plan), std::move(later), std::move(evaluated), ++uses_}).first->second;
}

Execution& PlanCache::execution_of(Planned& planned, const Kernels& kernels, const TensorTable& tensors, ExecutionContext context,
                                   const Destinations& destinations, std::uint64_t memory_limit) {
  if (!planned.execution) {
    const auto& plan = *planned.plan;
    const auto kept =
        plan.kept.empty()
            ? 0
            : KeptMemory(plan, kernels, tensors, context.threads->count(), context.constant_weights, context.session).missing_bytes();
    require_memory(plan, arenas_, destinations, kept, memory_limit);
    if (!arenas_.hold(plan)) {
      const auto spare = static_cast<std::uint64_t>(plan.memory.bytes() / Arenas::spare_part);
      make_room(plan, *context.streams, has_memory(plan, arenas_, destinations, kept + spare, memory_limit));
    }
    context.arenas = &arenas_;
    planned.execution = std::make_unique<Execution>(planned.plan, kernels, tensors, context);
  }
  if (last_ != nullptr && last_ != &planned) last_->execution->free_sparse();
  last_ = &planned;
  return *planned.execution;
}

// What ran before uses the addresses of the arenas that go.
void PlanCache::make_room(const Plan& plan, Streams& streams, bool spare) {
  last_ = nullptr;
  for (auto& [key, planned] : plans_) planned.execution.reset();
  arenas_.grow(plan, streams, spare);
}

}  // namespace tenon

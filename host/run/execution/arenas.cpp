#include "run/execution/arenas.hpp"

#include <algorithm>

namespace tenon {

std::byte* Arenas::data(const DeviceArena& arena) const {
  if (is_shared(arena)) return shared_.at(arena.writer)->data();
  return arena.device->is_cpu() ? pages_->data() : blocks_.at(arena.device).data();
}

std::int64_t Arenas::bytes(const DeviceArena& arena) const {
  if (is_shared(arena)) {
    const auto found = shared_.find(arena.writer);
    return found == shared_.end() ? -1 : static_cast<std::int64_t>(found->second->bytes());
  }
  if (arena.device->is_cpu()) return pages_ ? static_cast<std::int64_t>(pages_->bytes()) : -1;
  const auto found = blocks_.find(arena.device);
  return found == blocks_.end() ? -1 : static_cast<std::int64_t>(found->second.bytes());
}

bool Arenas::fits(const Plan& plan) const {
  const auto& arenas = plan.memory.arenas;
  return (!plan.memory.isolates || shares_) && staging_bytes() >= plan.gpus.staging_bytes &&
         std::all_of(arenas.begin(), arenas.end(), [&](const DeviceArena& arena) {
           return bytes(arena) >= arena.placement.bytes;
         });
}

// The old memory is released first, so that both are never allocated at once.
void Arenas::make(const DeviceArena& arena, Streams& streams, bool spare) {
  const bool grows = spare && this->bytes(arena) > 0;
  const auto bytes = static_cast<std::uint64_t>(
      arena.placement.bytes + (grows ? arena.placement.bytes / spare_divisor : 0));
  if (is_shared(arena)) {
    shared_.erase(arena.writer);
    const auto access =
        arena.writer == nullptr ? SharedBlock::Access::read : SharedBlock::Access::write;
    shared_.emplace(arena.writer, shared_memory::make(bytes, access, "the values of the plan"));
  } else if (arena.device->is_cpu()) {
    pages_.reset();
    pages_.emplace(bytes, "the plan");
  } else {
    blocks_.erase(arena.device);
    blocks_.try_emplace(arena.device, streams.of(*arena.device), bytes, "the plan");
  }
}

void Arenas::grow(const Plan& plan, Streams& streams, bool spare) {
  if (plan.memory.isolates && !shares_) {
    pages_.reset();
    shares_ = true;
  }
  for (const auto& arena : plan.memory.arenas)
    if (bytes(arena) < arena.placement.bytes) make(arena, streams, spare);
  if (const auto needed = plan.gpus.staging_bytes; needed > staging_bytes()) {
    staging_.reset();
    staging_.emplace(
        Staging{PinnedBlock(*plan.gpus.devices.front(), static_cast<std::uint64_t>(needed),
                            "the staging buffer of the plan"),
                needed});
  }
}

}  // namespace tenon

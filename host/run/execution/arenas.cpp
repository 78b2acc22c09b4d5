#include "run/execution/arenas.hpp"

#include <algorithm>

namespace tenon {

std::int64_t Arenas::bytes(const Device& device) const {
  const auto found = blocks_.find(&device);
  return found == blocks_.end() ? -1 : static_cast<std::int64_t>(found->second.bytes());
}

bool Arenas::hold(const Plan& plan) const {
  const auto& arenas = plan.memory.arenas;
  return staging_bytes() >= plan.gpus.staging_bytes &&
         std::all_of(arenas.begin(), arenas.end(), [&](const DeviceArena& arena) { return bytes(*arena.device) >= arena.placement.bytes; });
}

// The old memory goes first: both at once would be more than any plan needs.
void Arenas::grow(const Plan& plan, Streams& streams) {
  for (const auto& [device, placement] : plan.memory.arenas) {
    if (bytes(*device) >= placement.bytes) continue;
    blocks_.erase(device);
    blocks_.try_emplace(device, streams.of(*device), static_cast<std::uint64_t>(placement.bytes), "the plan");
  }
  if (const auto wanted = plan.gpus.staging_bytes; wanted > staging_bytes()) {
    staging_.reset();
    staging_.emplace(Staging{PinnedBlock(*plan.gpus.devices.front(), static_cast<std::uint64_t>(wanted), "what the plan copies"), wanted});
  }
}

}  // namespace tenon

#include "plan/memory/memory_plan.hpp"

#include <algorithm>
#include <numeric>

namespace tenon {

std::uint32_t MemoryPlan::add_buffer(Device& device, const IsolatedPlugin* writer,
                                     const Buffer& buffer) {
  auto arena = std::find_if(arenas.begin(), arenas.end(), [&](const auto& each) {
    return each.device == &device && each.writer == writer;
  });
  if (arena == arenas.end()) arena = arenas.insert(arena, {&device, writer, {}});
  arena_of.push_back(static_cast<std::uint32_t>(arena - arenas.begin()));
  buffers.push_back(buffer);
  return static_cast<std::uint32_t>(buffers.size() - 1);
}

std::int64_t MemoryPlan::offset_of(ValueId value) const {
  const auto buffer = buffer_of[root[value]];
  return buffer == none ? -1 : offsets[buffer];
}

std::int64_t MemoryPlan::bytes() const {
  return std::accumulate(
      arenas.begin(), arenas.end(), std::int64_t{0},
      [](std::int64_t sum, const DeviceArena& arena) { return sum + arena.placement.bytes; });
}

std::int64_t MemoryPlan::lower_bound() const {
  return std::accumulate(
      arenas.begin(), arenas.end(), std::int64_t{0},
      [](std::int64_t sum, const DeviceArena& arena) { return sum + arena.placement.lower_bound; });
}

}  // namespace tenon

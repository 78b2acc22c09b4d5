#include "run/session/memory_need.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "device/devices.hpp"
#include "device/memory.hpp"
#include "device/process_limits.hpp"
#include "io/counted.hpp"

namespace tenon {
namespace {

constexpr std::uint64_t small = 1 << 20;  // skips reading system files

struct Need {
  std::uint64_t arena = 0, present = 0, outputs = 0, packed = 0;
  ValueId largest = none;

  std::uint64_t bytes() const { return arena - std::min(arena, present) + outputs + packed; }
};

bool is_on_cpu(const Plan& plan, ValueId value) {
  return is_known(plan.types()[value]) && plan.types()[value].storage == TENON_DENSE &&
         plan.graph.value_devices[value]->is_cpu();
}

void consider(Need& need, const Plan& plan, ValueId value) {
  if (need.largest == none ||
      byte_count(plan.types()[value]) > byte_count(plan.types()[need.largest]))
    need.largest = value;
}

Need need_of(const Plan& plan, const Arenas& present, const Destinations& destinations) {
  const auto& model = plan.model();
  Need need;
  for (const auto& arena : plan.memory.arenas) {
    if (!arena.device->is_cpu()) continue;
    need.arena += static_cast<std::uint64_t>(arena.placement.bytes);
    need.present += static_cast<std::uint64_t>(
        std::clamp<std::int64_t>(present.bytes(arena), 0, arena.placement.bytes));
  }
  std::set<ValueId> made;
  for (const auto& [name, value] : model.outputs) {
    if (model.values[value].role != Role::output || !is_on_cpu(plan, value)) continue;
    if (destinations.contains(std::string(model.strings[name])) || !made.insert(value).second)
      continue;
    need.outputs +=
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, byte_count(plan.types()[value])));
    consider(need, plan, value);
  }
  for (ValueId value = 0; value < plan.types().size(); ++value)
    if (plan.memory.offset_of(value) >= 0 && is_on_cpu(plan, value)) consider(need, plan, value);
  return need;
}

// Returns an arena that does not fit into the free memory of its GPU, or null.
const DeviceArena* arena_without_memory(const Plan& plan, const Arenas& present, bool spare) {
  for (const auto& arena : plan.memory.arenas) {
    const auto bytes = arena.placement.bytes,
               held = std::max<std::int64_t>(0, present.bytes(arena)),
               more = bytes - held + (spare ? bytes / Arenas::spare_divisor : 0);
    if (!arena.device->is_cpu() && bytes > held &&
        static_cast<std::uint64_t>(more) > arena.device->memory().free)
      return &arena;
  }
  return nullptr;
}

void require_gpu_memory(const Plan& plan, const Arenas& present) {
  const auto* arena = arena_without_memory(plan, present, false);
  if (arena == nullptr) return;
  arena->device->synchronize();  // memory that other streams are about to free may suffice
  arena = arena_without_memory(plan, present, false);
  if (arena != nullptr)
    throw out_of_memory(arena->device->name(), "the plan",
                        static_cast<std::uint64_t>(arena->placement.bytes),
                        arena->device->memory());
}

std::string describe_largest(const Plan& plan, ValueId value) {
  if (value == none) return {};
  return fmt::format("; the largest tensor is '{}', {}, of {}", value_label(plan.model(), value),
                     to_string(plan.types()[value]),
                     readable_bytes(static_cast<std::uint64_t>(byte_count(plan.types()[value]))));
}

bool has_memory(const Plan& plan, const Arenas& present, const Destinations& destinations,
                std::uint64_t packed, std::uint64_t limit) {
  auto need = need_of(plan, present, destinations);
  need.packed = packed;
  return (limit == 0 && need.bytes() < small) || need.bytes() <= available_memory(limit).bytes;
}

}  // namespace

bool has_spare_memory(const Plan& plan, const Arenas& present, const Destinations& destinations,
                      std::uint64_t packed, std::uint64_t limit) {
  const auto spare = static_cast<std::uint64_t>(plan.memory.bytes() / Arenas::spare_divisor);
  return has_memory(plan, present, destinations, packed + spare, limit) &&
         arena_without_memory(plan, present, true) == nullptr;
}

void require_memory(const Plan& plan, const Arenas& present, const Destinations& destinations,
                    std::uint64_t packed, std::uint64_t limit) {
  require_gpu_memory(plan, present);
  if (has_memory(plan, present, destinations, packed, limit)) return;
  free_cached_blocks();
  if (has_memory(plan, present, destinations, packed, limit)) return;
  const auto need = need_of(plan, present, destinations);
  const auto available = available_memory(limit);
  throw Failure(
      FailureKind::failed,
      fmt::format(
          "the run needs {} for values inside the graph and {} for its outputs{}, but {} leaves "
          "{}{}",
          readable_bytes(need.arena), readable_bytes(need.outputs),
          packed == 0 ? ""
                      : " and " + readable_bytes(packed) + " for the kernels' packed constants",
          available.limit, readable_bytes(available.bytes), describe_largest(plan, need.largest)),
      "use a smaller batch; the plan reports the memory it needs");
}

}  // namespace tenon

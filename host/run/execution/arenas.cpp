#include "run/execution/arenas.hpp"

#include <algorithm>

#include "graph/type.hpp"

namespace tenon {
namespace {

constexpr std::size_t most_pages = 64;  // each has a descriptor

bool is_isolated(const Plan& plan, std::size_t step) {
  return plan.copy_of(step) == none && plan.device_of(step).is_cpu() && !plan.operator_of(plan.node_of(step)).isolated.empty();
}

bool isolates(const Plan& plan) {
  for (std::size_t step = 0; step < plan.step_count(); ++step)
    if (is_isolated(plan, step)) return true;
  return false;
}

std::uint64_t page_bytes(const Plan& plan, ValueId value) {
  return static_cast<std::uint64_t>(byte_count(plan.types()[value]));
}

bool is_large_number(const tenon_type& type) {
  return type.storage == TENON_DENSE && type.dtype >= TENON_F16 && type.dtype <= TENON_F64 &&
         byte_count(type) >= static_cast<std::int64_t>(shared_memory::worth_sharing);
}

}  // namespace

std::vector<ValueId> own_pages(const Plan& plan) {
  std::vector<ValueId> found;
  if (!isolates(plan)) return found;
  const auto& memory = plan.memory;
  std::vector<std::uint32_t> values_in(memory.buffers.size());
  for (const auto root : memory.root)
    if (memory.buffer_of[root] != none) ++values_in[memory.buffer_of[root]];
  for (std::size_t step = 0; step < plan.step_count(); ++step) {
    if (!is_isolated(plan, step)) continue;
    const auto& node = plan.node(step);
    for (std::uint32_t i = 0; i < node.output_count && found.size() < most_pages; ++i) {
      const auto value = node.first_output + i;
      const auto buffer = memory.buffer_of[memory.root[value]];
      if (buffer != none && values_in[buffer] == 1 && memory.writes[memory.first_write[step] + i] == TENON_WRITE_TO &&
          is_large_number(plan.types()[value]))
        found.push_back(value);
    }
  }
  return found;
}

std::int64_t Arenas::bytes(const Device& device) const {
  if (device.is_cpu() && shared_) return static_cast<std::int64_t>(shared_->bytes());
  const auto found = blocks_.find(&device);
  return found == blocks_.end() ? -1 : static_cast<std::int64_t>(found->second.bytes());
}

bool Arenas::hold(const Plan& plan) const {
  const auto& arenas = plan.memory.arenas;
  if (!holds_pages(plan) || (!shared_ && isolates(plan))) return false;
  return staging_bytes() >= plan.gpus.staging_bytes &&
         std::all_of(arenas.begin(), arenas.end(), [&](const DeviceArena& arena) { return bytes(*arena.device) >= arena.placement.bytes; });
}

bool Arenas::holds_pages(const Plan& plan) const {
  const auto values = own_pages(plan);
  if (values.size() > pages_.size()) return false;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (pages_[i]->bytes() < page_bytes(plan, values[i])) return false;
  return true;
}

void Arenas::grow_shared(std::uint64_t bytes) {
  shared_.reset();
  shared_ = shared_memory::make(bytes, SharedBlock::Access::read, "the values of the plan");
}

// The old memory goes first: both at once would be more than any plan needs.
void Arenas::grow(const Plan& plan, Streams& streams) {
  const bool shares = shared_ || isolates(plan);
  for (const auto& [device, placement] : plan.memory.arenas) {
    if (bytes(*device) >= placement.bytes && (shared_ || !shares || !device->is_cpu())) continue;
    if (shares && device->is_cpu()) {
      blocks_.erase(device);
      grow_shared(static_cast<std::uint64_t>(placement.bytes));
      continue;
    }
    blocks_.erase(device);
    blocks_.try_emplace(device, streams.of(*device), static_cast<std::uint64_t>(placement.bytes), "the plan");
  }
  const auto values = own_pages(plan);
  if (values.size() > pages_.size()) pages_.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto needed = page_bytes(plan, values[i]);
    if (pages_[i] != nullptr && pages_[i]->bytes() >= needed) continue;
    pages_[i].reset();
    pages_[i] = shared_memory::make(needed, SharedBlock::Access::write, "the values of the plan");
  }
  if (const auto wanted = plan.gpus.staging_bytes; wanted > staging_bytes()) {
    staging_.reset();
    staging_.emplace(Staging{PinnedBlock(*plan.gpus.devices.front(), static_cast<std::uint64_t>(wanted), "what the plan copies"), wanted});
  }
}

}  // namespace tenon

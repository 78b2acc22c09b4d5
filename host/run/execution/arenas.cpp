#include "run/execution/arenas.hpp"

#include <algorithm>

#include "graph/type.hpp"
#include "plan/memory/orders.hpp"

namespace tenon {
namespace {

constexpr std::size_t most_pages = 64;  // each has a descriptor

/// In whose worker the step runs; null: in this process.
const IsolatedPlugin* isolated_plugin(const Plan& plan, std::size_t step) {
  return plan.copy_of(step) == none && plan.device_of(step).is_cpu() ? plan.operator_of(plan.node_of(step)).isolated_plugin() : nullptr;
}

bool isolates(const Plan& plan) {
  for (std::size_t step = 0; step < plan.step_count(); ++step)
    if (isolated_plugin(plan, step) != nullptr) return true;
  return false;
}

bool is_large_number(const tenon_type& type) {
  return type.storage == TENON_DENSE && type.dtype >= TENON_F16 && type.dtype <= TENON_F64 &&
         byte_count(type) >= static_cast<std::int64_t>(shared_memory::worth_sharing);
}

/// The plugin whose worker alone writes to each buffer; null: others do, too, or what is written is small or no number.
std::vector<const IsolatedPlugin*> only_writers(const Plan& plan) {
  const auto& memory = plan.memory;
  std::vector<const IsolatedPlugin*> writers(memory.buffers.size());
  std::vector<bool> excluded(memory.buffers.size());
  for (std::size_t step = 0; step < plan.step_count(); ++step) {
    const auto* writer = isolated_plugin(plan, step);
    const auto& node = plan.node(step);
    for (auto value = node.first_output; value < node.first_output + node.output_count; ++value) {
      const auto buffer = memory.buffer_of[memory.root[value]];
      if (buffer == none) continue;
      if (writer == nullptr || !is_large_number(plan.types()[value]) || (writers[buffer] != nullptr && writers[buffer] != writer))
        excluded[buffer] = true;
      writers[buffer] = writer;
    }
  }
  for (std::size_t buffer = 0; buffer < writers.size(); ++buffer)
    if (excluded[buffer]) writers[buffer] = nullptr;
  return writers;
}

}  // namespace

OwnPages own_pages(const Plan& plan) {
  OwnPages found;
  if (!isolates(plan)) return found;
  const auto& memory = plan.memory;
  const auto writers = only_writers(plan);
  struct Page {
    const IsolatedPlugin* writer;
    std::uint32_t last;  // step of the buffer that lies there
  };
  std::vector<Page> pages;
  std::vector<std::uint32_t> page_of(memory.buffers.size(), none);
  for (const auto buffer : order_by(&Buffer::first, memory.buffers)) {
    const auto& [bytes, first, last] = memory.buffers[buffer];
    if (writers[buffer] == nullptr) continue;
    auto page =
        std::find_if(pages.begin(), pages.end(), [&](const Page& each) { return each.writer == writers[buffer] && each.last < first; });
    if (page == pages.end()) {
      if (pages.size() == most_pages) continue;
      page = pages.insert(pages.end(), {writers[buffer], 0});
      found.bytes.push_back(0);
    }
    page->last = last;
    page_of[buffer] = static_cast<std::uint32_t>(page - pages.begin());
    auto& size = found.bytes[page_of[buffer]];
    size = std::max(size, static_cast<std::uint64_t>(bytes));
  }
  for (ValueId value = 0; value < memory.root.size(); ++value)
    if (const auto buffer = memory.buffer_of[memory.root[value]]; buffer != none && page_of[buffer] != none)
      found.values.emplace_back(value, page_of[buffer]);
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
  const auto needed = own_pages(plan).bytes;
  if (needed.size() > pages_.size()) return false;
  for (std::size_t i = 0; i < needed.size(); ++i)
    if (pages_[i]->bytes() < needed[i]) return false;
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
  const auto needed = own_pages(plan).bytes;
  if (needed.size() > pages_.size()) pages_.resize(needed.size());
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (pages_[i] != nullptr && pages_[i]->bytes() >= needed[i]) continue;
    pages_[i].reset();
    pages_[i] = shared_memory::make(needed[i], SharedBlock::Access::write, "the values of the plan");
  }
  if (const auto wanted = plan.gpus.staging_bytes; wanted > staging_bytes()) {
    staging_.reset();
    staging_.emplace(Staging{PinnedBlock(*plan.gpus.devices.front(), static_cast<std::uint64_t>(wanted), "what the plan copies"), wanted});
  }
}

}  // namespace tenon

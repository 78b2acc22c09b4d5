// The memory that a session's plans share.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "device/block.hpp"
#include "isolate/shared_memory.hpp"
#include "plan/plan.hpp"
#include "run/execution/streams.hpp"

namespace tenon {

/// Memory for values that a worker writes where they lie: large floating ones whose buffer only steps of one isolated plugin write to.
/// Their places in the arena stay empty. What a worker does to its pages after its call changes numbers, but not what is read as an index
/// or a size. Buffers that are not alive at once share a page.
struct OwnPages {
  std::vector<std::uint64_t> bytes;                       ///< of each page
  std::vector<std::pair<ValueId, std::uint32_t>> values;  ///< and their pages
};
OwnPages own_pages(const Plan& plan);

/// One arena for each device, and one pinned staging buffer, as large as the plan that needs most: one plan runs at a time, and what lies
/// there is of no use after its run. Threads: one at a time.
class Arenas {
 public:
  /// Whether all that the plan puts into memory has room.
  bool hold(const Plan& plan) const;
  /// Makes room. Addresses change, so whoever uses them is gone. Throws Failure (failed); what was too small is gone then, too.
  void grow(const Plan& plan, Streams& streams);

  /// Of a device for which some plan needed an arena.
  std::byte* data(const Device& device) const { return device.is_cpu() && shared_ ? shared_->data() : blocks_.at(&device).data(); }
  /// The i-th of own_pages().
  std::byte* page(std::size_t i) const { return pages_[i]->data(); }
  std::byte* staging() const { return staging_->memory.data(); }
  std::int64_t bytes(const Device& device) const;

 private:
  struct Staging {
    PinnedBlock memory;
    std::int64_t bytes;
  };
  std::int64_t staging_bytes() const { return staging_ ? staging_->bytes : 0; }

  bool holds_pages(const Plan& plan) const;
  void grow_shared(std::uint64_t bytes);

  std::map<const Device*, Block> blocks_;
  std::shared_ptr<SharedBlock> shared_;  // the CPU's, from the first plan with isolated steps on: workers read it as it is
  std::vector<std::shared_ptr<SharedBlock>> pages_;
  std::optional<Staging> staging_;
};

}  // namespace tenon

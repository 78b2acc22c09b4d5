// The memory that a session's plans share.
#pragma once
#include <map>
#include <memory>
#include <optional>

#include "device/block.hpp"
#include "device/memory.hpp"
#include "isolate/shared_memory.hpp"
#include "plan/plan.hpp"
#include "run/execution/streams.hpp"

namespace tenon {

/// A block for each arena of a plan, and one pinned staging buffer, as large as the plan that needs most, or a sixteenth larger: one plan
/// runs at a time, and what lies there is of no use after its run. Threads: one at a time.
class Arenas {
 public:
  /// Whether all that the plan puts into memory has room.
  bool hold(const Plan& plan) const;
  /// Makes room; with `spare`, memory that was too small gets more than the plan needs, so that it does not grow with each of many plans.
  /// Addresses change, so whoever uses them is gone. Throws Failure (failed); what was too small is gone then, too.
  void grow(const Plan& plan, Streams& streams, bool spare);
  static constexpr std::int64_t spare_part = 16;

  /// Of a plan that they hold.
  std::byte* data(const DeviceArena& arena) const;
  std::byte* staging() const { return staging_->memory.data(); }
  std::int64_t bytes(const DeviceArena& arena) const;  ///< -1: there is none yet

 private:
  struct Staging {
    PinnedBlock memory;
    std::int64_t bytes;
  };
  std::int64_t staging_bytes() const { return staging_ ? staging_->bytes : 0; }
  bool is_shared(const DeviceArena& arena) const { return shares_ && arena.device->is_cpu(); }
  void make(const DeviceArena& arena, Streams& streams, bool spare);

  std::optional<Pages> pages_;             // the CPU's arena, unless workers share it
  std::map<const Device*, Block> blocks_;  // of GPUs
  bool shares_ = false;                    // the CPU's arenas with workers, from the first plan with isolated steps on
  std::map<const IsolatedPlugin*, std::shared_ptr<SharedBlock>> shared_;  // by who writes to them
  std::optional<Staging> staging_;
};

}  // namespace tenon

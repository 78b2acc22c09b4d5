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

/// One block per arena of a plan and one pinned staging buffer, each as large as the largest plan
/// needs, or a sixteenth larger: one plan runs at a time, and the contents are not needed after its
/// run. Threads: one at a time.
class Arenas {
 public:
  /// Whether all memory that the plan needs is available.
  bool fits(const Plan& plan) const;
  /// Makes room for the plan; with `spare`, memory that was too small grows beyond the plan's need,
  /// so that it does not grow for each of many plans. Addresses change, so executions that use them
  /// must be gone. Throws Failure (failed); memory that was too small is then released, too.
  void grow(const Plan& plan, Streams& streams, bool spare);
  static constexpr std::int64_t spare_divisor = 16;

  /// Memory of an arena of a plan for which fits() is true.
  std::byte* data(const DeviceArena& arena) const;
  std::byte* staging() const { return staging_->memory.data(); }
  std::int64_t bytes(const DeviceArena& arena) const;  ///< -1: not allocated

 private:
  struct Staging {
    PinnedBlock memory;
    std::int64_t bytes;
  };
  std::int64_t staging_bytes() const { return staging_ ? staging_->bytes : 0; }
  bool is_shared(const DeviceArena& arena) const { return shares_ && arena.device->is_cpu(); }
  void make(const DeviceArena& arena, Streams& streams, bool spare);

  std::optional<Pages> pages_;             // the CPU's arena, unless shared with workers
  std::map<const Device*, Block> blocks_;  // of GPUs
  bool shares_ = false;  // shared with workers; set by the first plan with isolated steps
  std::map<const IsolatedPlugin*, std::shared_ptr<SharedBlock>> shared_;  // by writer
  std::optional<Staging> staging_;
};

}  // namespace tenon

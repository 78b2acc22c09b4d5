// The memory that a session's plans share.
#pragma once
#include <map>
#include <optional>

#include "device/block.hpp"
#include "plan/plan.hpp"
#include "run/execution/streams.hpp"

namespace tenon {

/// One arena for each device, and one pinned staging buffer, as large as the plan that needs most: one plan runs at a time, and what lies
/// there is of no use after its run. Threads: one at a time.
class Arenas {
 public:
  /// Whether all that the plan puts into memory has room.
  bool hold(const Plan& plan) const;
  /// Makes room. Addresses change, so whoever uses them is gone. Throws Failure (failed); what was too small is gone then, too.
  void grow(const Plan& plan, Streams& streams);

  /// Of a device for which some plan needed an arena.
  std::byte* data(const Device& device) const { return blocks_.at(&device).data(); }
  std::byte* staging() const { return staging_->memory.data(); }
  std::int64_t bytes(const Device& device) const;

 private:
  struct Staging {
    PinnedBlock memory;
    std::int64_t bytes;
  };
  std::int64_t staging_bytes() const { return staging_ ? staging_->bytes : 0; }

  std::map<const Device*, Block> blocks_;
  std::optional<Staging> staging_;
};

}  // namespace tenon

// The host's threads.
#pragma once
#include <tenon/abi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <tenon/host/devices.hpp>
#include <vector>

namespace tenon {

/// A number of threads that loops are spread over, the calling one among them. Started when first needed, asleep when idle.
/// Threads: any number may call at once; they share the workers.
class Threads {
 public:
  /// `count` 0: as many as usable_cores() counts. Throws Failure (usage) for fewer than 0 or more than most_threads.
  explicit Threads(int count = 0);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return count_; }

  /// Calls body(context, begin, end) for the parts [0, grain), [grain, 2 * grain) ... of [0, n), in any order and at once, and returns when
  /// all are done. The parts are the same for any number of threads, so that sums over parts are, too. `grain` below 1 counts as 1.
  /// body must not throw. It may call parallel_for itself: while a thread waits for its inner loop it works on nothing else.
  /// Each part begins with the caller's floating-point modes; false where a part left others behind, which its thread does not keep.
  /// Where as many callers as there may be are at it already, the calling thread works alone.
  bool parallel_for(std::int64_t n, std::int64_t grain, tenon_body body, void* context) const;

 private:
  class Entry;
  struct Arena;
  int count_;
  std::unique_ptr<Arena> arena_;  // null for one thread
};

}  // namespace tenon

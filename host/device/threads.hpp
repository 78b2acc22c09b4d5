// The host's thread pool.
#pragma once
#include <tenon/abi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <tenon/host/devices.hpp>
#include <vector>

namespace tenon {

/// A pool of threads, including the calling one, for parallel loops. Workers start on first use and
/// sleep when idle. Thread-safe: any number of threads may call at once; they share the workers.
class Threads {
 public:
  /// `count` 0: usable_cores().count(), up to max_threads. Throws Failure (usage) if `count` is
  /// negative or above max_threads.
  explicit Threads(int count = 0);
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  int count() const { return count_; }

  /// Calls body(context, begin, end) for the chunks [0, grain), [grain, 2 * grain) ... of [0, n),
  /// in any order and concurrently, and returns when all are done. The chunks do not depend on the
  /// number of threads, so sums over chunks do not either. `grain` below 1 counts as 1.
  /// `body` must not throw. It may call parallel_for: a thread that waits for an inner loop does no
  /// other work.
  /// Each chunk starts with the caller's floating-point modes. Returns false if a chunk changed
  /// them; they are then restored.
  /// If half as many callers as threads are already active, the calling thread works by itself.
  bool parallel_for(std::int64_t n, std::int64_t grain, tenon_body body, void* context) const;

 private:
  class Entry;
  struct Arena;
  int count_;
  std::unique_ptr<Arena> arena_;  // null for one thread
};

}  // namespace tenon

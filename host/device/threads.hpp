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

/// Pieces of work, by number, some of which begin only when earlier ones are done. Threads: one run at a time.
class Tasks {
 public:
  /// `after`: for each task those with smaller numbers that it waits for, each once.
  explicit Tasks(std::span<const std::vector<std::uint32_t>> after);
  ~Tasks();
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  std::uint32_t count() const { return static_cast<std::uint32_t>(waits_.size()); }

 private:
  friend class Threads;
  struct Left;  // what is to come before each task in the run at hand
  class Run;
  std::vector<std::uint32_t> waits_;       // for how many others each one waits
  std::vector<std::uint32_t> first_next_;  // in next_, of each; one more at the end
  std::vector<std::uint32_t> next_;        // those that wait for it
  std::unique_ptr<Left> left_;
};

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
  /// Where as many callers as there may be are at it already, the calling thread works alone. `helped`, if it is not null, grows by the
  /// nanoseconds that other threads worked.
  bool parallel_for(std::int64_t n, std::int64_t grain, tenon_body body, void* context, std::atomic<std::int64_t>* helped = nullptr) const;

  using TaskBody = void (*)(void* context, std::uint32_t task);
  /// Calls body(context, task) for each task once those that it waits for have returned, at once where they do not wait for each other, and
  /// returns when all have. body is as that of parallel_for, and puts back the floating-point modes that it changes. False: nothing has
  /// run, for other callers keep the threads busy, or there is but one.
  bool run(Tasks& tasks, TaskBody body, void* context) const;

 private:
  class Entry;
  struct Arena;
  int count_;
  std::unique_ptr<Arena> arena_;  // null for one thread
};

}  // namespace tenon

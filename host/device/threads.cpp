// Compiled without ThreadSanitizer (see host/CMakeLists.txt): oneTBB's library is not instrumented, so its templates must not be either, or
// every task handed over would look like a race. What TSan needs to know about the order of things, Loop tells it.
#include "device/threads.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <optional>
#include <string>
#include <tenon/host/failure.hpp>

#include "device/float_modes.hpp"
#include "device/usable_cores.hpp"
#include "io/crash/running.hpp"

// ThreadSanitizer's; null in programs without it.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" __attribute__((weak)) void __tsan_acquire(void* address);
extern "C" __attribute__((weak)) void __tsan_release(void* address);
// NOLINTEND(bugprone-reserved-identifier)

namespace tenon {
namespace {

// One call of parallel_for, on the caller's stack.
class Loop {
 public:
  Loop(std::int64_t n, std::int64_t grain, tenon_body body, void* context) : n_(n), grain_(grain), body_(body), context_(context) {}

  std::int64_t parts() const { return n_ / grain_ + (n_ % grain_ != 0 ? 1 : 0); }

  void run(std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) {
      const std::int64_t begin = part * grain_;
      body_(context_, begin, begin + std::min(grain_, n_ - begin));
      if (FloatModes::after_call() == modes_) continue;
      modes_.set();
      left_modes_.store(true, std::memory_order_relaxed);
    }
  }

  bool kept_modes() const { return !left_modes_.load(std::memory_order_relaxed); }

  void spread(tbb::task_arena& arena) {
    happens_before(&begun_);
    arena.execute([this] {
      // Without isolation, a thread that waits here could take up a part of an outer loop, inside of one it is in the middle of.
      tbb::this_task_arena::isolate([this] {
        tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, parts()), [this](const tbb::blocked_range<std::int64_t>& range) {
          happens_after(&begun_);
          run_as_caller(range);
          happens_before(&ended_);
        });
      });
    });
    happens_after(&ended_);
  }

 private:
  // A worker may have modes of its own, and runs the caller's code.
  void run_as_caller(const tbb::blocked_range<std::int64_t>& range) {
    const auto own = FloatModes::now();
    if (own != modes_) modes_.set();
    auto& slot = RunningSlot::here();
    const auto* const before = slot.now();
    slot.enter(running_);
    run(range.begin(), range.end());
    slot.leave(before);
    if (own != modes_) own.set();
  }

  static void happens_before(char* moment) {
    if (__tsan_release != nullptr) __tsan_release(moment);
  }
  static void happens_after(char* moment) {
    if (__tsan_acquire != nullptr) __tsan_acquire(moment);
  }

  const std::int64_t n_, grain_;
  const tenon_body body_;
  void* const context_;
  const FloatModes modes_ = FloatModes::now();
  const Running* const running_ = RunningSlot::here().now();
  std::atomic<bool> left_modes_ = false;
  char begun_ = 0, ended_ = 0;  // two moments: with one, parts would seem to be ordered among themselves
};

}  // namespace

struct Threads::Arena {
  explicit Arena(int count) : arena(count) {
    // oneTBB starts no more workers than the machine has cores, unless it is told to.
    if (count > tbb::info::default_concurrency())
      more.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(count));
  }
  std::optional<tbb::global_control> more;
  tbb::task_arena arena;
};

static int checked_count(int count) {
  if (count < 0 || count > most_threads)
    throw Failure(FailureKind::usage,
                  "the number of threads is " + std::to_string(count) + " but must be from 0 (all) to " + std::to_string(most_threads));
  return count == 0 ? std::min(usable_cores().count(), most_threads) : count;
}

Threads::Threads(int count) : count_(checked_count(count)) {
  if (count_ > 1) arena_ = std::make_unique<Arena>(count_);
}

Threads::~Threads() = default;

bool Threads::parallel_for(std::int64_t n, std::int64_t grain, tenon_body body, void* context) const {
  if (n <= 0) return true;
  Loop loop(n, std::max<std::int64_t>(grain, 1), body, context);
  if (arena_ == nullptr || loop.parts() == 1) {
    loop.run(0, loop.parts());
  } else {
    loop.spread(arena_->arena);
  }
  return loop.kept_modes();
}

void end_workers() noexcept {
  tbb::task_scheduler_handle workers{tbb::attach{}};
  tbb::finalize(workers, std::nothrow);
}

}  // namespace tenon

// Compiled without ThreadSanitizer (see host/CMakeLists.txt): the oneTBB library is not
// instrumented, so its templates must not be either, or every task would be reported as a race.
// happens_before() and happens_after() tell TSan about the order explicitly.
#include "device/threads.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <optional>
#include <string>
#include <tenon/host/failure.hpp>
#include <utility>

#include "device/float_modes.hpp"
#include "device/process_limits.hpp"
#include "io/crash/active_call.hpp"

// ThreadSanitizer functions; null in programs without it.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" __attribute__((weak)) void __tsan_acquire(void* address);
extern "C" __attribute__((weak)) void __tsan_release(void* address);
// NOLINTEND(bugprone-reserved-identifier)

namespace tenon {
namespace {

void happens_before(char* moment) {
  if (__tsan_release != nullptr) __tsan_release(moment);
}
void happens_after(char* moment) {
  if (__tsan_acquire != nullptr) __tsan_acquire(moment);
}

// The arena in which this thread works.
thread_local const void* arena_here = nullptr;
// The application's context of the thread on whose behalf this one works.
thread_local const void* context_here = nullptr;

}  // namespace

// Captures the calling thread's identity and floating-point modes, and applies them on threads that
// run its code.
class ThreadCaller {
 public:
  const FloatModes& modes() const { return modes_; }

  template <class Work>
  void run_as_caller(const void* arena, Work&& work) const {
    const auto own_modes = FloatModes::now();
    if (own_modes != modes_) modes_.set();
    auto& slot = CallSlot::here();
    const auto* const before = slot.current();
    const auto* const arena_before = arena_here;
    const auto* const context_before = std::exchange(context_here, context_);
    arena_here = arena;
    slot.enter(call_);
    work();
    slot.leave(before);
    arena_here = arena_before;
    context_here = context_before;
    if (own_modes != modes_) own_modes.set();
  }

 private:
  const FloatModes modes_ = FloatModes::now();
  const ActiveCall* const call_ = CallSlot::here().current();
  const void* const context_ = context_here;
};

const void* caller_context() noexcept {
  return context_here;
}

const void* set_caller_context(const void* context) noexcept {
  return std::exchange(context_here, context);
}

namespace {

// One call of parallel_for, on the caller's stack.
class Loop {
 public:
  Loop(std::int64_t n, std::int64_t grain, tenon_body body, void* context)
      : n_(n), grain_(grain), body_(body), context_(context) {}

  std::int64_t chunk_count() const { return n_ / grain_ + (n_ % grain_ != 0 ? 1 : 0); }

  void run(std::int64_t first, std::int64_t last) {
    for (std::int64_t chunk = first; chunk < last; ++chunk) {
      const std::int64_t begin = chunk * grain_;
      body_(context_, begin, begin + std::min(grain_, n_ - begin));
      if (FloatModes::after_call() == caller_.modes()) continue;
      caller_.modes().set();
      changed_modes_.store(true, std::memory_order_relaxed);
    }
  }

  bool modes_unchanged() const { return !changed_modes_.load(std::memory_order_relaxed); }

  // Each thread starts with one of up to 16 shares, the same one in consecutive loops, so its data
  // is likely in the cache; then it helps with the remaining shares.
  void run_in_parallel(const void* arena, int threads) {
    const auto workers = std::min<std::int64_t>(threads, chunk_count());
    shares_ = std::min(workers, max_shares);
    open_shares_.store(shares_, std::memory_order_relaxed);
    // Without isolation, a thread that waits here could pick up a chunk of an outer loop while in
    // the middle of another one.
    tbb::this_task_arena::isolate([&] {
      tbb::task_group helpers;
      for (std::int64_t i = 1; i < workers; ++i) helpers.run([this, arena] { help(arena); });
      help(arena);
      helpers.wait();
    });
  }

  // For the calling thread, before and after run_in_parallel(), which a worker runs if the arena is
  // full.
  void begin() { happens_before(&begun_); }
  void end() { happens_after(&ended_); }

 private:
  void help(const void* arena) {
    if (open_shares_.load(std::memory_order_relaxed) == 0) return;
    happens_after(&begun_);
    caller_.run_as_caller(arena, [this] { run_shares(); });
    happens_before(&ended_);
  }

  void run_shares() {
    const auto first = std::max(tbb::this_task_arena::current_thread_index(), 0);
    for (std::int64_t i = 0; i < shares_; ++i) run_share((first + i) % shares_);
  }

  // Takes chunks of a share in batches of decreasing size.
  void run_share(std::int64_t share) {
    const auto all = chunk_count(), size = all / shares_ + (share < all % shares_ ? 1 : 0);
    const auto begin = all / shares_ * share + std::min(share, all % shares_);
    auto& next = next_[static_cast<std::size_t>(share)];
    for (auto first = next.load(std::memory_order_relaxed); first < size;) {
      const auto last = first + std::max<std::int64_t>(1, (size - first) / 4);
      if (!next.compare_exchange_weak(first, last, std::memory_order_relaxed)) continue;
      if (last == size) open_shares_.fetch_sub(1, std::memory_order_relaxed);
      run(begin + first, begin + last);
      first = next.load(std::memory_order_relaxed);
    }
  }

  const std::int64_t n_, grain_;
  const tenon_body body_;
  void* const context_;
  const ThreadCaller caller_;
  static constexpr std::int64_t max_shares = 16;
  std::int64_t shares_ = 1;
  std::array<std::atomic<std::int64_t>, max_shares> next_{};  // of each share
  std::atomic<std::int64_t> open_shares_ = 1;                 // shares that are not exhausted
  std::atomic<bool> changed_modes_ = false;
  // two sync objects: with one, chunks would seem to be ordered among each other
  char begun_ = 0, ended_ = 0;
};

}  // namespace

struct Threads::Arena {
  explicit Arena(int count) : arena(count), max_callers(std::max(1, count / 2)) {
    // By default oneTBB starts no more workers than the machine has cores.
    if (count > tbb::info::default_concurrency())
      more.emplace(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(count));
  }
  std::optional<tbb::global_control> more;
  tbb::task_arena arena;
  const int max_callers;  // with more callers, none would have helpers
  std::atomic<int> callers = 0;
};

// A thread's entry into the arena; it is already inside when it runs a chunk or a task there.
class Threads::Entry {
 public:
  explicit Entry(Arena* arena) : arena_(arena), inside_(arena != nullptr && arena_here == arena) {
    if (arena == nullptr || inside_) return;
    counted_ = arena->callers.load(std::memory_order_relaxed) < arena->max_callers;
    if (counted_ && arena->callers.fetch_add(1, std::memory_order_relaxed) >= arena->max_callers) {
      arena->callers.fetch_sub(1, std::memory_order_relaxed);
      counted_ = false;
    }
  }
  ~Entry() {
    if (counted_) arena_->callers.fetch_sub(1, std::memory_order_relaxed);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  explicit operator bool() const { return inside_ || counted_; }

  template <class Work>
  void run(Work&& work) const {
    if (inside_) return work();
    const auto* const before = arena_here;
    arena_->arena.execute([&] {
      arena_here = arena_;
      work();
      arena_here = nullptr;
    });
    arena_here = before;
  }

 private:
  Arena* const arena_;
  const bool inside_;
  bool counted_ = false;
};

static int checked_count(int count) {
  if (count < 0 || count > max_threads)
    throw Failure(FailureKind::usage, "the number of threads is " + std::to_string(count) +
                                          " but must be from 0 (all) to " +
                                          std::to_string(max_threads));
  return count == 0 ? std::min(usable_cores().count(), max_threads) : count;
}

Threads::Threads(int count) : count_(checked_count(count)) {
  if (count_ > 1) arena_ = std::make_unique<Arena>(count_);
}

Threads::~Threads() = default;

bool Threads::parallel_for(std::int64_t n, std::int64_t grain, tenon_body body,
                           void* context) const {
  if (n <= 0) return true;
  Loop loop(n, std::max<std::int64_t>(grain, 1), body, context);
  if (loop.chunk_count() == 1) {
    loop.run(0, 1);
  } else if (const Entry entry(arena_.get()); entry) {
    loop.begin();
    entry.run([&] { loop.run_in_parallel(arena_.get(), count_); });
    loop.end();
  } else {
    loop.run(0, loop.chunk_count());
  }
  return loop.modes_unchanged();
}

void end_workers() noexcept {
  tbb::task_scheduler_handle workers{tbb::attach{}};
  tbb::finalize(workers, std::nothrow);
}

}  // namespace tenon

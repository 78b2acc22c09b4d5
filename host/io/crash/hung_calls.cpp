// Ends the process if a call into a plugin takes too long.
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string>
#include <tenon/host/crash.hpp>
#include <thread>

#include "io/crash/watched_process.hpp"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// 31 years; ten times that would overflow a clock's nanoseconds
constexpr std::chrono::seconds longest_limit{1'000'000'000};

void end_hung(const CallSlot& slot, milliseconds limit) {
  CrashReport report;
  report.kind = CrashReport::Kind::hung;
  report.number = static_cast<int>(std::min<std::int64_t>(limit.count(), INT_MAX));
  report.find_source(&slot);
  if (slot.changes() != slot.seen.changes) return;  // it returned in the last moment
  submit_report(report);
  _exit(static_cast<int>(FailureKind::failed));
}

// A hung call may hold the heap's lock, so this function must not allocate.
void watch(milliseconds limit) {
  const auto pause = std::clamp(limit / 10, milliseconds(1), milliseconds(100));
  // excludes most of the time during which the process was stopped (Ctrl-Z)
  Clock::duration time{0};
  for (auto last = Clock::now();;) {
    std::this_thread::sleep_for(pause);
    const auto now = Clock::now();
    time += std::min<Clock::duration>(now - last, pause + limit / 2);
    last = now;
    const auto in_ms = std::chrono::duration_cast<milliseconds>(time).count();
    for (auto* slot = CallSlot::newest(); slot != nullptr; slot = slot->next()) {
      if (slot->current() == nullptr) continue;
      if (const auto changes = slot->changes(); changes != slot->seen.changes)
        slot->seen = {changes, in_ms};
      else if (in_ms - slot->seen.since >= limit.count())
        end_hung(*slot, limit);
    }
  }
}

}  // namespace

void end_hung_calls(std::chrono::milliseconds limit) {
  if (limit.count() <= 0)
    throw Failure(FailureKind::usage, "the time limit for calls is " +
                                          std::to_string(limit.count()) +
                                          " ms but must be positive");
  limit = std::min<milliseconds>(limit, longest_limit);
  report_call_limit(limit.count());
  std::thread(watch, limit).detach();
}

}  // namespace tenon

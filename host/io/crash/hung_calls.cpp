// Ends the process when a call into a plugin takes too long.
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string>
#include <tenon/host/crash.hpp>
#include <thread>

#include "io/crash/crash_report.hpp"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::chrono::seconds longest_limit{1'000'000'000};  // 31 years; ten times as many are more nanoseconds than a clock counts

void end_hung(const RunningSlot& slot, milliseconds limit) {
  Ending ending;
  ending.way = Ending::Way::hung;
  ending.number = static_cast<int>(std::min<std::int64_t>(limit.count(), INT_MAX));
  ending.name(&slot);
  if (slot.changes() != slot.seen.changes) return;  // it came back in the last moment
  tell_ending(ending);
  _exit(static_cast<int>(FailureKind::failed));
}

// A hung call may hold the heap's lock, so that nothing here takes memory.
void watch(milliseconds limit) {
  const auto pause = std::clamp(limit / 10, milliseconds(1), milliseconds(100));
  Clock::duration time{0};  // without most of what passed while the process was stopped (Ctrl-Z)
  for (auto last = Clock::now();;) {
    std::this_thread::sleep_for(pause);
    const auto now = Clock::now();
    time += std::min<Clock::duration>(now - last, pause + limit / 2);
    last = now;
    const auto in_ms = std::chrono::duration_cast<milliseconds>(time).count();
    for (auto* slot = RunningSlot::newest(); slot != nullptr; slot = slot->next()) {
      if (slot->now() == nullptr) continue;
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
    throw Failure(FailureKind::usage, "the time limit of a call is " + std::to_string(limit.count()) + " ms but must be positive");
  limit = std::min<milliseconds>(limit, longest_limit);
  tell_call_limit(limit.count());
  std::thread(watch, limit).detach();
}

}  // namespace tenon

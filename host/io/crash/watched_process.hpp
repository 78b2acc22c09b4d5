// Reports how this process ends, to the parent that watches it or on stderr.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "io/crash/crash_report.hpp"

namespace tenon {

/// Memory shared between a process and the parent that watches it.
struct WatchedProcess {
  CallSlot::List slots = nullptr;
  std::atomic<bool> reported = false;  ///< `report` is filled in
  std::atomic<bool> finished = false;  ///< the process ends intentionally
  pid_t process = 0;
  /// time limit for plugin functions in milliseconds; 0 for none
  std::atomic<std::int64_t> call_limit = 0;
  CrashReport report;
};

/// Sets where crashes are reported from now on; null for stderr.
void report_to_parent(WatchedProcess* watched) noexcept;

/// Passes the report on. Async-signal-safe. Only the first call has an effect: later faults of a
/// process that ends are not reported.
void submit_report(const CrashReport& report) noexcept;

/// Announces the time limit, so that the parent can end a process that hangs while it is stopped.
void report_call_limit(std::int64_t milliseconds) noexcept;

/// Announces that this process ends intentionally.
void report_finished() noexcept;

/// Returns whether a parent watches this process itself, not a forked copy of it.
bool is_watched() noexcept;

}  // namespace tenon

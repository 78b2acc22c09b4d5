// Tells how this process ends: to the parent that watches it, or on stderr.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "io/crash/ending.hpp"

namespace tenon {

/// What a process and the parent that watches it share.
struct WatchedProcess {
  RunningSlot::List slots = nullptr;
  std::atomic<bool> told = false;      ///< `ending` is filled in
  std::atomic<bool> finished = false;  ///< the process ends because it chose to
  pid_t process = 0;
  std::atomic<std::int64_t> call_limit = 0;  ///< of a plugin's function in milliseconds; 0: none
  Ending ending;
};

/// Where crashes are told from now on; null: on stderr.
void tell_parent_of(WatchedProcess* watched) noexcept;

/// Async-signal-safe. The first time only: what else happens to a process that is about to end is not told.
void tell_ending(const Ending& ending) noexcept;

/// The parent ends what hangs and cannot do so itself, since it is stopped.
void tell_call_limit(std::int64_t milliseconds) noexcept;

/// That this process ends because it chose to.
void tell_finished() noexcept;

/// Whether a parent watches this very process, and no copy of it.
bool is_watched() noexcept;

}  // namespace tenon

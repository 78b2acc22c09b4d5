// Limits that the worker imposes on itself before and after loading the plugin.
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace tenon::isolate {

/// Makes the process end with the thread that started it, write no core files, not grow files, open
/// only a few descriptors besides those of `libraries` libraries, and use at most `memory` bytes of
/// its own (0: no limit).
void limit_resources(std::uint64_t memory, int libraries);

/// Which kernel mechanisms confine the process; false if this kernel lacks one.
struct Confinement {
  bool seccomp = false, landlock = false;
  std::string text() const;  ///< `seccomp, landlock, rlimits`
};

/// Forbids network access, other programs and processes, and capabilities; of files, only the
/// system's libraries and `libraries` can be read. For loading the plugin.
void confine_loading(std::span<char* const> libraries);
/// Also forbids all file access. Applies to all threads if seccomp does.
Confinement confine_calls();

}  // namespace tenon::isolate

// What the worker takes from itself before and after the plugin is loaded.
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace tenon::isolate {

/// Ends with the thread that started it, writes no core files, makes no file larger, opens few descriptors but those of so many libraries,
/// and has at most `memory` bytes of its own (0: no limit).
void limit_resources(std::uint64_t memory, int libraries);

/// What the kernel lets a process take from itself. False: this kernel cannot do it.
struct Confinement {
  bool seccomp = false, landlock = false;
  std::string text() const;  ///< `seccomp, landlock, rlimits`
};

/// No network, no other programs or processes, no capabilities; of files, the system's libraries and these ones can be read. For the
/// loader.
void confine_loading(std::span<char* const> libraries);
/// No files at all either. Holds for all threads where seccomp does.
Confinement confine_calls();

}  // namespace tenon::isolate

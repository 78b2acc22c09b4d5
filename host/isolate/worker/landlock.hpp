// Landlock: which files a process may use.
#pragma once
#include <span>

namespace tenon::isolate {

/// All but reading what the system's loader reads to find the system's libraries, what these read to know the machine, and the given
/// ones. For the calling thread and those that it starts. False where the kernel has no Landlock, or it is switched off.
bool forbid_files_but_libraries(std::span<char* const> libraries);
/// All.
bool forbid_files();

}  // namespace tenon::isolate

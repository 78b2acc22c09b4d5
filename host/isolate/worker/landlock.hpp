// Landlock: restricts the files that a process may use.
#pragma once
#include <span>

namespace tenon::isolate {

/// Forbids all file access except reading what the system's loader needs to find the system's
/// libraries, what those read about the machine, and `libraries`. Applies to the calling thread and
/// threads it starts. Returns false if the kernel lacks Landlock or it is disabled.
bool forbid_files_but_libraries(std::span<char* const> libraries);
/// Forbids all file access.
bool forbid_files();

}  // namespace tenon::isolate

// Landlock: which files a process may use.
#pragma once

namespace tenon::isolate {

enum class Files { read, none };

/// For the calling thread and those that it starts. False where the kernel has no Landlock, or it is switched off.
bool forbid_files(Files allowed);

}  // namespace tenon::isolate

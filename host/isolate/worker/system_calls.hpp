// Seccomp: which system calls a process may make.
#pragma once

namespace tenon::isolate {

/// While the plugin is loaded, files may be opened for reading; after that none.
enum class Stage { loading, calls };

/// For all threads of the process. Calls that are not allowed fail with EPERM. Filters add up: a later one gives nothing back. False where
/// the kernel has no seccomp filters.
bool forbid_system_calls(Stage stage);

}  // namespace tenon::isolate

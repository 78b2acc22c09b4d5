// Seccomp: restricts the system calls that a process may make.
#pragma once

namespace tenon::isolate {

/// While the plugin is being loaded, files may be opened for reading; after that not at all.
enum class Stage { loading, calls };

/// Applies to all threads of the process. Forbidden calls fail with EPERM. Filters accumulate: a
/// later one cannot lift an earlier one. Returns false if the kernel has no seccomp filters.
bool forbid_system_calls(Stage stage);

}  // namespace tenon::isolate

// What happens when the code of a plugin ends the process: the plugin is named.
#pragma once
#include <chrono>
#include <functional>
#include <tenon/host/api.hpp>
#include <tenon/host/failure.hpp>

namespace tenon {

/// From here on, what a plugin does to the process is reported in one sentence on stderr, with operator, node and plugin:
///
///     error: [op] node 'n' of PLUGIN crashed with SIGSEGV in forward(): it wrote to address 0x8
///
/// HostOptions::name_crashes does the same. For the whole process and for good: installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and
/// SIGABRT, and for exit(). A signal then goes on to the handler that was there before, or ends the process as it would have; one that no
/// plugin's code has raised goes there at once, without a word. exit() from a plugin's code ends the process with exit code 1. _exit()
/// is not seen from here. Threads that call plugins from now on get a stack for signal handlers, unless they have one; so install
/// handlers of your own with SA_ONSTACK, and before this. Threads: any.
TENON_API void name_crashes();

/// Ends the process with exit code 1, and a sentence as above, when one call of a plugin's function takes longer than `limit`. Starts a
/// thread. Calls on a GPU return before the GPU is done, so that what hangs there does not count. Call once; `limit` must be
/// positive, and counts as at most 1e9 seconds.
TENON_API void end_hung_calls(std::chrono::milliseconds limit);

/// For programs whose main() does nothing but Tenon's work; call it before any thread starts, and end with end_process(). Does as
/// name_crashes(), and for every signal that is a crash. Forks: the caller goes on as the child. The parent waits, passes on the signals
/// that it gets, stops and goes on with its child, and ends as the child ends, but with exit code 1, and the sentence through `report`,
/// where the child crashed or ended in any way but end_process(). The child dies with its parent.
///
/// Where the process is being traced (by a debugger), where the environment variable TENON_NO_PARENT is set, and where the system gives no
/// process, there is no parent, and the sentence of a crash comes from here, with exit code 1.
TENON_API void continue_below_parent(const std::function<void(const Failure&)>& report);

/// Flushes nothing and runs no destructors, those of plugins among them. In a copy of the process that a plugin's code forked, ends that
/// copy with exit code 1. Threads: any.
[[noreturn]] TENON_API void end_process(int status) noexcept;

/// Call it where nothing but the end of a thread (pthread_exit) can have come out of plugins: names the plugin and ends the process with
/// exit code 1.
[[noreturn]] TENON_API void end_unwound_process() noexcept;

}  // namespace tenon

// Handling of plugin code that ends the process: the plugin is named.
#pragma once
#include <chrono>
#include <functional>
#include <tenon/host/api.hpp>
#include <tenon/host/failure.hpp>

namespace tenon {

/// From now on, plugin code that ends the process is reported in one sentence on stderr, with
/// operator, node and plugin:
///
///     error: [op] node 'n' of PLUGIN crashed with SIGSEGV in forward(): it wrote to address 0x8
///
/// HostOptions::name_crashes does the same. It applies to the whole process and cannot be undone:
/// it installs handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT, and for exit(). A signal
/// is then passed to the previous handler, or ends the process as it would have; a signal that no
/// plugin code raised is passed on at once, without a message. exit() in plugin code ends the
/// process with exit code 1. _exit() is not detected. Threads that call plugins from now on get a
/// signal stack unless they have one, so install your own handlers with SA_ONSTACK, and before this
/// call. Threads: any.
TENON_API void name_crashes();

/// Ends the process with exit code 1 and a sentence as above if a call of a plugin's function takes
/// longer than `limit`. Starts a thread. Calls on a GPU return before the GPU is done, so hanging
/// GPU work is not detected. Call it once; `limit` must be positive and is capped at 1e9 seconds.
TENON_API void end_hung_calls(std::chrono::milliseconds limit);

/// For programs whose main() only does Tenon's work. Call it before any thread starts, and exit
/// with end_process(). Does what name_crashes() does, for every crash signal. Forks: the caller
/// continues as the child. The parent waits, forwards the signals that it receives, stops and
/// continues with its child, and exits as the child does; but with exit code 1, and the sentence
/// passed to `report`, if the child crashed or ended other than by end_process(). The child dies
/// with its parent.
///
/// There is no parent if the process is being traced (by a debugger), if the environment variable
/// TENON_NO_PARENT is set, or if no process can be created. This process then reports a crash
/// itself and ends with exit code 1.
TENON_API void continue_below_parent(const std::function<void(const Failure&)>& report);

/// Ends the process without flushing and without running destructors, including those of plugins.
/// In a copy of the process forked by plugin code, ends that copy with exit code 1. Threads: any.
[[noreturn]] TENON_API void end_process(int status) noexcept;

/// Call it where only the end of a thread (pthread_exit) can have unwound out of plugins. Names the
/// plugin and ends the process with exit code 1.
[[noreturn]] TENON_API void end_unwound_process() noexcept;

}  // namespace tenon

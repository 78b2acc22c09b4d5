// Handlers for what a plugin's code may do to the process.
#pragma once

namespace tenon {

enum class CrashScope {
  plugins,  ///< what comes from elsewhere is none of our business
  program   ///< the process is ours: every crash is told, and none ends with exit code 0
};
/// The first scope stays, but `program` wins. Threads: any.
void install_crash_handlers(CrashScope scope);

/// After a plugin was loaded: what it registered for exit() comes after the handler. Does nothing where none is installed.
void guard_exit() noexcept;

/// Where this process is a copy that a plugin's code forked and came back in: says so and ends it.
void end_copied_process() noexcept;

}  // namespace tenon

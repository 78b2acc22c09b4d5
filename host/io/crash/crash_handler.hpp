// Handlers for crashes and exits caused by plugin code.
#pragma once

namespace tenon {

enum class CrashScope {
  plugins,  ///< ignores crashes outside plugins
  program   ///< reports every crash; none ends with exit code 0
};
/// The first scope stays in effect, except that `program` overrides. Thread-safe.
void install_crash_handlers(CrashScope scope);

/// Call after loading a plugin, so that exit() functions it registered run after the handler. Does
/// nothing if no handlers are installed.
void guard_exit() noexcept;

/// If this process is a copy that plugin code forked and then returned in, reports that and ends
/// it.
void end_copied_process() noexcept;

}  // namespace tenon

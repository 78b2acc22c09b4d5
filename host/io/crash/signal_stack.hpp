// Alternate stacks for signal handlers, so that stack overflows can be reported.
#pragma once

namespace tenon {

/// Enables install_thread_signal_stack().
void use_signal_stacks() noexcept;

/// Installs a stack for the calling thread, unless it already has one (sanitizers and applications
/// use their own). Lives as long as the thread.
void install_thread_signal_stack() noexcept;

}  // namespace tenon

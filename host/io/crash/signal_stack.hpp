// The stack that a thread's signal handlers run on, so that a stack overflow can be told, too.
#pragma once

namespace tenon {

/// From here on give_thread_signal_stack() does something.
void use_signal_stacks() noexcept;

/// For the calling thread, unless it has one already (sanitizers and applications bring their own). Lives as long as the thread.
void give_thread_signal_stack() noexcept;

}  // namespace tenon

// Memory for what is told of a process that died. Where a parent process watches, it lies in pages that both see.
#pragma once
#include <cstddef>

namespace tenon {

/// Moves what is taken from now on into pages that children share; call once, before take() and before any thread. False where the system
/// gives none.
bool share_crash_memory() noexcept;

/// In a process that was forked: what it takes from now on comes from the heap, for the original hands out the same shared bytes.
void leave_crash_memory() noexcept;

/// Zeroed bytes, aligned as for any type. From the heap where nothing is shared, or the shared pages are used up. Threads: any.
void* take_crash_memory(std::size_t bytes);
void give_back_crash_memory(void* memory, std::size_t bytes) noexcept;

/// Whether this process may read them even if another one wrote the pointer: they are shared. Async-signal-safe.
bool is_shared_crash_memory(const void* memory, std::size_t bytes) noexcept;

}  // namespace tenon

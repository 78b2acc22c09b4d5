// Memory for crash reports. If a parent process watches, it is in pages shared with the parent.
#pragma once
#include <cstddef>

namespace tenon {

/// Makes further allocations come from pages shared with child processes. Call once, before
/// allocate_crash_memory() and before any thread starts. Returns false if the system provides none.
bool share_crash_memory() noexcept;

/// Call in a forked process: its further allocations come from the heap, because the original
/// allocates from the same shared pages.
void detach_crash_memory() noexcept;

/// Returns zeroed memory with maximum alignment. Comes from the heap if nothing is shared or the
/// shared pages are used up. Thread-safe.
void* allocate_crash_memory(std::size_t bytes);
void free_crash_memory(void* memory, std::size_t bytes) noexcept;

/// Returns whether this process may read the memory even if another process wrote the pointer,
/// because it is shared. Async-signal-safe.
bool is_shared_crash_memory(const void* memory, std::size_t bytes) noexcept;

}  // namespace tenon

// SIGBUS where a page of a mapped file is gone.
#pragma once

namespace tenon {

/// Whether the address lies in a mapped file of ours. If so, zeros are there now, and FileMemory::require_unchanged() tells of it. A
/// handler of SIGBUS asks this first, with si_addr, and returns where it is true. Safe in a signal handler; errno stays as it was.
bool repair_mapping(const void* address) noexcept;

/// Handles SIGBUS by repair_mapping(); for other addresses and senders, the handler from before is called. Once a process: a second call
/// does nothing.
void install_mapping_guard();

}  // namespace tenon

// Handling of SIGBUS for pages of mapped files that are gone.
#pragma once

namespace tenon {

/// Returns whether the address is in one of our mapped files; if so, it now reads as zeros, and
/// FileMemory::require_unchanged() reports that. A SIGBUS handler calls this first with si_addr and
/// returns if it is true. Async-signal-safe; preserves errno.
bool repair_mapping(const void* address) noexcept;

/// Installs a SIGBUS handler that calls repair_mapping(); for other addresses and senders, the
/// previous handler is called. Further calls in the same process do nothing.
void install_mapping_guard();

}  // namespace tenon

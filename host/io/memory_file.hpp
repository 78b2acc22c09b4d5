// Anonymous files in memory.
#pragma once

namespace tenon {

/// Creates a sealable file and returns its descriptor, which is closed on exec; -1 with errno on
/// failure. `name` is shown in /proc and by debuggers.
int create_memory_file(const char* name);

/// Adds seals (F_SEAL_...). Waits up to half a second if the kernel is still using a page. Returns
/// false with errno on failure.
bool seal_memory_file(int descriptor, int seals);

}  // namespace tenon

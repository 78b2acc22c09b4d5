// Files without a name that lie in memory.
#pragma once

namespace tenon {

/// A descriptor, closed when another program is executed, of a file that can be sealed. -1: errno says why there is none. `name` is what
/// /proc and debuggers show.
int make_memory_file(const char* name);

/// Adds these (F_SEAL_...). Waits up to half a second where the kernel still has work with a page of it. False: errno says why not.
bool seal_memory_file(int descriptor, int seals);

}  // namespace tenon

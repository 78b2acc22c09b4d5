// What a plugin defines is what it uses.
#pragma once
#include "plugin/discovery/input_file.hpp"

namespace tenon {

// The loader looks for a name first in the program and its libraries, also for one that the plugin defines itself: one with its own copy of
// xxHash would call the host's. DT_SYMBOLIC in the plugin's dynamic section makes the loader look into the plugin first, as linking it
// with -Bsymbolic does. dlopen's RTLD_DEEPBIND would do more, and breaks what is common: it passes by a malloc that was preloaded
// (tcmalloc, heaptrack), std::cout and environ of programs that have copies of them, and no sanitizer allows it.

/// Sets DT_SYMBOLIC in a copy of a plugin, which `descriptor` writes and `copy` reads. Leaves alone what is no sound shared object, what
/// has no place for it, and plugins that define malloc or operator new: what they allocate is freed by libraries that have never heard of
/// theirs.
void prefer_own_symbols(int descriptor, const InputFile& copy);

}  // namespace tenon

// The name of a loaded shared object. For the host and the worker program.
#pragma once
#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace tenon {

/// Gives what was loaded from a copy the name of its file, which dladdr(), dl_iterate_phdr() and debuggers report, so that a plugin finds
/// what lies next to it. `library`: what dlopen gave; it is never closed.
inline void name_loaded_file(void* library, const char* file) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return;
  if (char* name = strdup(file)) map->l_name = name;  // the loader keeps the old name among others that it compares
}

}  // namespace tenon

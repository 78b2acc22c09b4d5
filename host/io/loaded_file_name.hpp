// The name of a loaded shared object. Used by the host and the worker program.
#pragma once
#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace tenon {

/// Gives a library loaded from a copy the name of its original file, which dladdr(),
/// dl_iterate_phdr() and debuggers report, so that a plugin finds files in its folder. `library`
/// comes from dlopen and must never be closed.
inline void name_loaded_file(void* library, const char* file) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return;
  // the loader keeps the old name among others that it compares
  if (char* name = strdup(file)) map->l_name = name;
}

}  // namespace tenon

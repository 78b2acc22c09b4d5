// Anonymous files in memory, and the names of libraries that are loaded from them.
#pragma once
#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace tenon {

/// Creates a sealable file and returns its descriptor, which is closed on exec; -1 with errno on
/// failure. `name` is shown in /proc and by debuggers.
int create_memory_file(const char* name);

/// Adds seals (F_SEAL_...). Waits up to half a second if the kernel is still using a page. Returns
/// false with errno on failure.
bool seal_memory_file(int descriptor, int seals);

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

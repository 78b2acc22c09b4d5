#include "plugin/loading/loaded_libraries.hpp"

#include <dlfcn.h>
#include <link.h>

#include <system_error>

namespace tenon {

/// The path of the library that the loader takes for that name without looking for a file; empty if there is none.
static std::filesystem::path loaded_as(const std::string& name) {
  void* const library = dlopen(name.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  link_map* map = nullptr;
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0) return {};
  const std::filesystem::path path(map->l_name);
  dlclose(library);
  return path;
}

LoadedLibraries& LoadedLibraries::of_this_process() {
  static auto& all = *new LoadedLibraries;  // never destroyed, as what it knows of is not
  return all;
}

std::optional<Library> LoadedLibraries::find(const std::filesystem::path& path, std::uint64_t content_hash) {
  const std::lock_guard lock(mutex_);
  const auto found = libraries_.find({path, content_hash});
  if (found == libraries_.end()) return std::nullopt;
  return found->second;
}

void LoadedLibraries::add(const std::filesystem::path& path, std::uint64_t content_hash, const Library& library) {
  const std::lock_guard lock(mutex_);
  libraries_.emplace(std::pair(path, content_hash), library);
}

bool LoadedLibraries::clash(const std::vector<NeededLibrary>& libraries) {
  const std::lock_guard lock(mutex_);
  for (const auto& object : libraries)
    for (const auto& [name, index] : object.needs) {
      const auto& library = libraries[index];
      if (library.found == NeededLibrary::Found::by_system || name.find('/') != std::string::npos) continue;
      const auto path = loaded_as(name);
      std::error_code error;
      const bool is_copy = path.native().starts_with("/proc/");
      if ((is_copy || brought_.contains(path)) && !std::filesystem::equivalent(path, library.path, error)) return true;
    }
  return false;
}

void LoadedLibraries::add(const std::vector<NeededLibrary>& libraries) {
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 1; i < libraries.size(); ++i)
    if (libraries[i].found != NeededLibrary::Found::by_system) brought_.insert(libraries[i].path);
}

}  // namespace tenon

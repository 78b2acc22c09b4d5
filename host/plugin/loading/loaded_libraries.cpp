#include "plugin/loading/loaded_libraries.hpp"

#include <dlfcn.h>
#include <link.h>

#include <system_error>

#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

/// In a plugin's copy, names with a slash are replaced by the full path.
std::string name_for_loader(const std::string& name, const NeededLibrary& library) {
  return name.find('/') == std::string::npos ? name
                                             : std::filesystem::absolute(library.path).string();
}

/// The loader strips slashes at the end of a folder.
std::filesystem::path comparable(const std::filesystem::path& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal();
}

/// Returns the path of the already loaded library that the loader would use for the name; empty if
/// there is none.
std::filesystem::path loaded_as(const std::string& name) {
  void* const library = dlopen(name.c_str(), RTLD_NOLOAD | RTLD_LAZY);
  link_map* map = nullptr;
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0)
    return {};
  const std::filesystem::path path(map->l_name);
  dlclose(library);
  return path;
}

}  // namespace

LoadedLibraries& LoadedLibraries::of_this_process() {
  static auto& all = *new LoadedLibraries;  // never destroyed, like the libraries it refers to
  return all;
}

std::optional<Library> LoadedLibraries::find(const std::filesystem::path& path, std::uint64_t key) {
  const std::lock_guard lock(mutex_);
  const auto found = libraries_.find({path, key});
  if (found == libraries_.end()) return std::nullopt;
  return found->second;
}

void LoadedLibraries::add(const std::filesystem::path& path, std::uint64_t key,
                          const Library& library) {
  const std::lock_guard lock(mutex_);
  libraries_.emplace(std::pair(path, key), library);
}

bool LoadedLibraries::clash(const std::vector<NeededLibrary>& libraries) {
  const std::lock_guard lock(mutex_);
  bool clash = false;
  for (const auto& object : libraries)
    for (const auto& [name, index] : object.needs) {
      const auto& library = libraries[index];
      const auto path = loaded_as(name_for_loader(name, library));
      const auto brought = loaded_files_.find(comparable(path));
      std::error_code error;
      const bool is_copy = path.native().starts_with("/proc/"),
                 other = !std::filesystem::equivalent(path, library.path, error);
      const bool changed =
          brought != loaded_files_.end() && !other && brought->second != library.stamp;
      if (library.found != NeededLibrary::Found::by_system)
        clash = clash || changed || (other && (is_copy || brought != loaded_files_.end()));
      else if (changed)
        throw PluginError(PluginStatus::not_loadable,
                          "needs the library " + path.string() +
                              ", which has changed since another plugin loaded it in this process: "
                              "restart the program");
    }
  return clash;
}

LoadedLibraries::Files LoadedLibraries::missing(const std::vector<NeededLibrary>& libraries) {
  Files files;
  for (const auto& object : libraries)
    for (const auto& [name, index] : object.needs)
      if (loaded_as(name_for_loader(name, libraries[index])).empty())
        files.emplace(comparable(libraries[index].path), libraries[index].stamp);
  return files;
}

void LoadedLibraries::add(Files files) {
  const std::lock_guard lock(mutex_);
  loaded_files_.merge(files);
}

}  // namespace tenon

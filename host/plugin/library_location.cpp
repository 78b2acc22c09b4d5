#include "plugin/library_location.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <system_error>

namespace tenon {

namespace fs = std::filesystem;

// Returns the path that was passed to the loader.
static fs::path loaded_from() {
  Dl_info info{};
  return dladdr(reinterpret_cast<const void*>(&find_next_to_library), &info) != 0 && info.dli_fname
             ? info.dli_fname
             : fs::path();
}

fs::path library_file() {
  std::error_code error;
  const fs::path path = loaded_from();
  return path.is_absolute() ? fs::canonical(path, error) : fs::path();
}

fs::path find_next_to_library(const fs::path& name) {
  std::error_code error;
  const fs::path library = fs::canonical(loaded_from(), error);
  if (error) return {};
  for (const fs::path& candidate :
       {library.parent_path() / "tenon" / name, library.parent_path() / name}) {
    if (auto found = fs::canonical(candidate, error); !error) return found;
  }
  return {};
}

bool is_bundled(const fs::path& plugin) {
  static const auto installed = find_next_to_library("plugins");
  std::error_code error;
  return !installed.empty() &&
         fs::equivalent(plugin.has_parent_path() ? plugin.parent_path() : ".", installed, error);
}

std::vector<std::filesystem::path> default_plugins() {
  std::vector<std::filesystem::path> folders;
  std::error_code error;
  if (const char* list = std::getenv("TENON_PLUGIN_PATH"); list != nullptr) {
    std::istringstream stream(list);
    for (std::string folder; std::getline(stream, folder, ':');)
      if (!folder.empty()) folders.emplace_back(folder);
  }
  if (auto installed = find_next_to_library("plugins");
      std::filesystem::is_directory(installed, error))
    folders.push_back(std::move(installed));
  return folders;
}

namespace fs = std::filesystem;

static fs::path user_folder(const char* variable, const char* below_home) {
  if (const char* folder = std::getenv(variable); folder != nullptr && folder[0] == '/')
    return fs::path(folder) / "tenon";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/')
    return fs::path(home) / below_home / "tenon";
  return {};
}

fs::path user_cache_folder() {
  return user_folder("XDG_CACHE_HOME", ".cache");
}

fs::path user_config_folder() {
  return user_folder("XDG_CONFIG_HOME", ".config");
}

bool create_user_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return true;
  if (folder.has_parent_path() && folder.parent_path() != folder &&
      !create_user_folder(folder.parent_path()))
    return false;
  return mkdir(folder.c_str(), 0700) == 0 || fs::is_directory(folder, error);
}

}  // namespace tenon

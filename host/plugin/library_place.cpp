#include "plugin/library_place.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <system_error>

namespace tenon {

namespace fs = std::filesystem;

fs::path find_beside_library(const fs::path& name) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&find_beside_library), &info) == 0 || !info.dli_fname) return {};
  std::error_code error;
  const fs::path library = fs::canonical(info.dli_fname, error);
  if (error) return {};
  for (const fs::path& place : {library.parent_path() / "tenon" / name, library.parent_path() / name}) {
    if (auto found = fs::canonical(place, error); !error) return found;
  }
  return {};
}

bool is_bundled(const fs::path& plugin) {
  static const auto installed = find_beside_library("plugins");
  std::error_code error;
  return !installed.empty() && fs::equivalent(plugin.has_parent_path() ? plugin.parent_path() : ".", installed, error);
}

std::vector<std::filesystem::path> default_plugin_folders() {
  std::vector<std::filesystem::path> folders;
  std::error_code error;
  if (const char* list = std::getenv("TENON_PLUGIN_PATH"); list != nullptr) {
    std::istringstream stream(list);
    for (std::string folder; std::getline(stream, folder, ':');)
      if (!folder.empty() && std::filesystem::is_directory(folder, error)) folders.emplace_back(folder);
  }
  if (auto installed = find_beside_library("plugins"); std::filesystem::is_directory(installed, error))
    folders.push_back(std::move(installed));
  return folders;
}

}  // namespace tenon

#include "run/plugin_folders.hpp"

#include <cstdlib>
#include <sstream>
#include <string>

#include "plugin/loading/library_place.hpp"

namespace tenon {

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

#include "run/plugin_folders.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <sstream>
#include <string>

namespace tenon {
namespace {

// Beside libtenon.so itself, wherever it was moved to: plugins/ in a build tree, tenon/plugins/ when installed.
void add_installed(std::vector<std::filesystem::path>& folders) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&default_plugin_folders), &info) == 0 || info.dli_fname == nullptr) return;
  const auto library = std::filesystem::path(info.dli_fname).parent_path();
  for (const auto& folder : {library / "tenon" / "plugins", library / "plugins"}) {
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error)) continue;
    folders.push_back(folder);
    return;
  }
}

}  // namespace

std::vector<std::filesystem::path> default_plugin_folders() {
  std::vector<std::filesystem::path> folders;
  if (const char* list = std::getenv("TENON_PLUGIN_PATH"); list != nullptr) {
    std::istringstream stream(list);
    std::error_code error;
    for (std::string folder; std::getline(stream, folder, ':');)
      if (!folder.empty() && std::filesystem::is_directory(folder, error)) folders.emplace_back(folder);
  }
  add_installed(folders);
  return folders;
}

}  // namespace tenon

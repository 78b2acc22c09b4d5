#include "plugin/loading/user_folders.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <system_error>

namespace tenon {

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

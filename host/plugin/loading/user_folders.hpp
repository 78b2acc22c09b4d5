// Where this user's files of Tenon are.
#pragma once
#include <filesystem>

namespace tenon {

/// $XDG_CACHE_HOME/tenon, else $HOME/.cache/tenon; empty where neither is set to an absolute path.
std::filesystem::path user_cache_folder();
/// $XDG_CONFIG_HOME/tenon, else $HOME/.config/tenon.
std::filesystem::path user_config_folder();

/// With those above it, for the user alone, as other programs' folders are. False where it cannot be made.
bool make_user_folder(const std::filesystem::path& folder);

}  // namespace tenon

// The user's folders for Tenon's files.
#pragma once
#include <filesystem>

namespace tenon {

/// $XDG_CACHE_HOME/tenon, else $HOME/.cache/tenon; empty if neither variable is an absolute path.
std::filesystem::path user_cache_folder();
/// $XDG_CONFIG_HOME/tenon, else $HOME/.config/tenon.
std::filesystem::path user_config_folder();

/// Creates the folder and its parents with access for the user only. Returns false if that fails.
bool create_user_folder(const std::filesystem::path& folder);

}  // namespace tenon

// The locations of the host's library, of the files installed with it, such as the probe program
// and the bundled plugins, and of the user's folders.
#pragma once
#include <filesystem>
#include <vector>

namespace tenon {

/// Returns the path of the host's library. Empty if it is not certain, because it was loaded by a
/// relative path that may now lead elsewhere.
std::filesystem::path library_file();

/// Returns the file or folder `name` next to the host's library or, for an installation, in tenon/
/// next to it; empty if it is in neither.
std::filesystem::path find_next_to_library(const std::filesystem::path& name);

/// Returns the entries of TENON_PLUGIN_PATH (colon-separated), whether they exist or not, then the
/// installed folder if there is one.
std::vector<std::filesystem::path> default_plugins();

/// Returns whether the file is in the folder of the plugins that come with Tenon.
bool is_bundled(const std::filesystem::path& plugin);

/// $XDG_CACHE_HOME/tenon, else $HOME/.cache/tenon; empty if neither variable is an absolute path.
std::filesystem::path user_cache_folder();
/// $XDG_CONFIG_HOME/tenon, else $HOME/.config/tenon.
std::filesystem::path user_config_folder();

/// Creates the folder and its parents with access for the user only. Returns false if that fails.
bool create_user_folder(const std::filesystem::path& folder);

}  // namespace tenon

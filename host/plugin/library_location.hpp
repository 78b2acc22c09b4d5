// The location of the host's library and of the files installed with it, such as the probe program
// and the bundled plugins.
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

}  // namespace tenon

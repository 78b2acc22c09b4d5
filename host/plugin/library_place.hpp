// Where the host's own library lies, and what lies beside it: the probe, the installed plugins.
#pragma once
#include <filesystem>
#include <vector>

namespace tenon {

/// The file or folder `name` beside the host's library, or in tenon/ beside it (which is where it is installed); empty where it is in
/// neither.
std::filesystem::path find_beside_library(const std::filesystem::path& name);

/// The folders of TENON_PLUGIN_PATH (colons between them), then the installed one. Only those that exist.
std::vector<std::filesystem::path> default_plugin_folders();

/// Whether the file lies in the folder of the plugins that come with Tenon.
bool is_bundled(const std::filesystem::path& plugin);

}  // namespace tenon

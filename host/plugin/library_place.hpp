// Where the host's own library lies, and what lies beside it: the probe, the installed plugins.
#pragma once
#include <filesystem>
#include <vector>

namespace tenon {

/// The host's own library. Empty where that is not certain: a relative path, from where it was loaded, may lead elsewhere by now.
std::filesystem::path library_file();

/// The file or folder `name` beside the host's library, or in tenon/ beside it (which is where it is installed); empty where it is in
/// neither.
std::filesystem::path find_beside_library(const std::filesystem::path& name);

/// The folders and files of TENON_PLUGIN_PATH (colons between them), whether they exist or not, then the installed folder if there is one.
std::vector<std::filesystem::path> default_plugins();

/// Whether the file lies in the folder of the plugins that come with Tenon.
bool is_bundled(const std::filesystem::path& plugin);

}  // namespace tenon

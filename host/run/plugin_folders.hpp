// Where plugins are looked for when nobody says.
#pragma once
#include <filesystem>
#include <vector>

namespace tenon {

/// The folders of TENON_PLUGIN_PATH (colons between them), then the installed one. Only those that exist.
std::vector<std::filesystem::path> default_plugin_folders();

}  // namespace tenon

// Libraries that a plugin brings along: it is loaded from a private copy, so the system's loader cannot know what $ORIGIN means in it.
#pragma once
#include <filesystem>
#include <vector>

#include "plugin/discovery/input_file.hpp"

namespace tenon {

/// The libraries that the plugin in `file` needs and that lie where its run path says by $ORIGIN, which is `folder` here, and what those
/// need in the same way. Loaded before the plugin and in this order, they are found by their SONAME. They are no private copies: as any
/// other library they must not be changed in place while in use. Throws PluginError where the file is not sound.
std::vector<std::filesystem::path> find_bundled_dependencies(const InputFile& file, const std::filesystem::path& folder);

/// The other libraries that the system's loader finds for it by absolute paths and run paths, not by rules of its own: sound libraries for
/// this machine, nothing else, whatever those paths say. Throws PluginError where `file` is not sound.
std::vector<std::filesystem::path> find_dependencies_elsewhere(const InputFile& file, const std::filesystem::path& folder);

}  // namespace tenon

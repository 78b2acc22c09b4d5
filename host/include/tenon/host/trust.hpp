// Plugins that are not loaded: they crashed once, or other users may write to them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <tenon/host/api.hpp>
#include <vector>

namespace tenon {

/// A plugin that crashed or hung when it was first loaded. It is not loaded again until its content changes or release_plugins() names it.
struct QuarantinedPlugin {
  enum class File : std::uint8_t {
    same,
    changed,  ///< it will be tried again
    missing,
  };
  std::filesystem::path path;
  std::string reason;  ///< to follow the path in a sentence: "crashed ..."
  File file = File::same;
};

/// Those that this user's processes found. `cache`: as in HostOptions.
TENON_API std::vector<QuarantinedPlugin> quarantined_plugins(const std::filesystem::path& cache = {});

/// Takes a plugin, or all plugins of a folder, out of quarantine, and returns those that were in it. Throws Failure (file) if a record of
/// the quarantine cannot be removed.
TENON_API std::vector<QuarantinedPlugin> release_plugins(const std::filesystem::path& file_or_folder,
                                                         const std::filesystem::path& cache = {});

/// Why a Host without HostOptions::trust_writable refuses the file, to follow its path in a sentence: others than root and this user may
/// write to it or to its folder. Empty if it is trusted, and if there is no such file.
TENON_API std::string distrust_reason(const std::filesystem::path& plugin);

}  // namespace tenon

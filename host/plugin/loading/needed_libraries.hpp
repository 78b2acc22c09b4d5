// Finds the libraries that a plugin needs, as the system's loader would for the plugin's own path.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/discovery/input_file.hpp"

namespace tenon {

/// A shared object to load: the plugin itself, or one of its direct or indirect libraries.
struct NeededLibrary {
  enum class Found {
    bundled,   ///< found by $ORIGIN in the run path of the plugin or of another bundled library
    by_path,   ///< found by another run path, by LD_LIBRARY_PATH, or by a path in DT_NEEDED
    by_system  ///< found in the loader's cache; its own dependencies are not listed
  };
  std::filesystem::path path;  ///< as the loader opens it, without resolving links
  Found found = Found::by_path;
  FileStamp stamp{};
  /// index of each dependency by its name in DT_NEEDED
  std::map<std::string, std::size_t> needs{};
};

/// Whether LD_LIBRARY_PATH is searched; it is not for files that move to another machine.
enum class SearchEnvironment : bool { used, ignored };

/// Returns the plugin itself, whose bytes are in `file` and whose path is in `folder`, then its
/// libraries in the loader's order. The loader searches: for an object with DT_RUNPATH, the
/// environment, then that path; for others, DT_RPATH, then the DT_RPATH of the objects that needed
/// it, then the environment; last, the cache. $ORIGIN is the folder of the path by which an object
/// is opened; $LIB, $PLATFORM and subfolders are given by LoaderRules. A library that an earlier
/// object needs under the same name or SONAME is the same one. Libraries that are not found are
/// left out. Throws PluginError if the plugin or a bundled library is not valid; other invalid
/// files are left to the loader.
std::vector<NeededLibrary> find_needed_libraries(
    const InputFile& file, const std::filesystem::path& folder,
    SearchEnvironment environment = SearchEnvironment::used);

/// Replaces tokens in `text` by values: the value named ORIGIN replaces $ORIGIN and ${ORIGIN}.
/// Unknown tokens stay.
std::string expand_tokens(std::string_view text, const std::map<std::string, std::string>& values);

/// Returns a key of what a load depends on: the plugin's content, and its libraries' paths, sizes
/// and times.
std::uint64_t load_key(std::uint64_t content_hash, const std::vector<NeededLibrary>& libraries);
/// Same for the file currently at the path. Throws PluginError if it cannot be read.
std::uint64_t load_key(const std::filesystem::path& path, const InputFile& file);

}  // namespace tenon

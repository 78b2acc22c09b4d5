// The libraries that a plugin needs, found as the system's loader finds them for the plugin's own path.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/discovery/input_file.hpp"

namespace tenon {

/// A shared object of a plugin: the plugin itself, or a library that it needs, directly or not.
struct NeededLibrary {
  enum class Found {
    bundled,   ///< by $ORIGIN in the run path of the plugin or of another bundled library
    by_path,   ///< by another run path, LD_LIBRARY_PATH, or a path that the needing object states
    by_system  ///< in the loader's cache; the libraries that it needs itself are not listed
  };
  std::filesystem::path path;  ///< as the loader opens it: links in it are not followed
  Found found = Found::by_path;
  FileStamp stamp{};
  std::map<std::string, std::size_t> needs{};  ///< by the name that it states (DT_NEEDED), the index of that library
};

/// Whether LD_LIBRARY_PATH counts: it does not for files that go to another machine.
enum class SearchEnvironment : bool { used, ignored };

/// First the plugin itself, whose bytes are in `file` and whose path lies in `folder`, then its libraries, in the loader's order. The
/// loader's rules: of an object with DT_RUNPATH the environment, then that path; of others DT_RPATH, then those of the objects that
/// needed it, then the environment; last the cache. $ORIGIN is the folder of the path that an object is opened by; $LIB,
/// $PLATFORM and the subfolders of each folder are as LoaderRules says. A library that an
/// earlier object needs by the same name or SONAME is the same one. Libraries that are found nowhere are left out. Throws PluginError if
/// the plugin or a bundled library is not sound; other unsound files are left to the loader.
std::vector<NeededLibrary> find_needed_libraries(const InputFile& file, const std::filesystem::path& folder,
                                                 SearchEnvironment environment = SearchEnvironment::used);

/// `text` with values in the place of tokens: by the name ORIGIN that of $ORIGIN and ${ORIGIN}. Others stay.
std::string expand_tokens(std::string_view text, const std::map<std::string, std::string>& values);

/// What a load depends on: the content of the plugin, and which files its libraries are (path, size and times).
std::uint64_t load_key(std::uint64_t content_hash, const std::vector<NeededLibrary>& libraries);
/// The same of the file at the path, as it is now. Throws PluginError if it cannot be read.
std::uint64_t load_key(const std::filesystem::path& path, const InputFile& file);

}  // namespace tenon

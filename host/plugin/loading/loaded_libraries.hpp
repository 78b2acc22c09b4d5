// Plugin code loaded in this process.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "plugin/loading/library.hpp"
#include "plugin/loading/needed_libraries.hpp"

namespace tenon {

/// Libraries loaded by all hosts of the process. Nothing is ever unloaded, so a second copy of the
/// same file would occupy memory for good. Thread-safe.
class LoadedLibraries {
 public:
  static LoadedLibraries& of_this_process();

  /// Returns std::nullopt if no file with that path and key (load_key) was loaded.
  std::optional<Library> find(const std::filesystem::path& path, std::uint64_t key);
  void add(const std::filesystem::path& path, std::uint64_t key, const Library& library);

  /// Libraries by the loader's path, with their stamps at that time.
  using Files = std::map<std::filesystem::path, FileStamp>;

  /// Returns whether the loader would confuse one of these libraries with one loaded by another
  /// plugin, from another file or from an earlier version of the same file: it compares names only.
  /// Throws PluginError (not loadable) if that is a system library.
  bool clash(const std::vector<NeededLibrary>& libraries);
  /// Returns the libraries that this process has not loaded yet.
  static Files missing(const std::vector<NeededLibrary>& libraries);
  /// Records libraries that a plugin loaded.
  void add(Files files);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::filesystem::path, std::uint64_t>, Library> libraries_;
  Files loaded_files_;
};

}  // namespace tenon

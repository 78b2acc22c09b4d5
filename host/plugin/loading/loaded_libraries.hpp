// The plugins' code in this process.
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

/// What all hosts together have loaded. Nothing is ever unloaded, so that a second copy of the same file would take its memory for good.
/// Threads: any, at once.
class LoadedLibraries {
 public:
  static LoadedLibraries& of_this_process();

  /// Nothing if no file of that path and key (load_key) was loaded.
  std::optional<Library> find(const std::filesystem::path& path, std::uint64_t key);
  void add(const std::filesystem::path& path, std::uint64_t key, const Library& library);

  /// By the path that the loader has for them, and as they were then.
  using Files = std::map<std::filesystem::path, FileStamp>;

  /// Whether the loader would take a library that another plugin brought, from another file or from this one before it changed, for one
  /// of these: it compares names only. Throws PluginError (not loadable) for one of the system.
  bool clash(const std::vector<NeededLibrary>& libraries);
  /// Those of the libraries that this process has not loaded yet.
  static Files missing(const std::vector<NeededLibrary>& libraries);
  /// A plugin brought these along.
  void add(Files files);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::filesystem::path, std::uint64_t>, Library> libraries_;
  Files brought_;
};

}  // namespace tenon

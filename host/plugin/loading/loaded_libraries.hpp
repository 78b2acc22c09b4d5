// The plugins' code in this process.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
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

  /// Nothing where no file of that path and content was loaded.
  std::optional<Library> find(const std::filesystem::path& path, std::uint64_t content_hash);
  void add(const std::filesystem::path& path, std::uint64_t content_hash, const Library& library);

  /// Whether the loader would take a library that another plugin brought, from another file, for one of these: it compares names only.
  bool clash(const std::vector<NeededLibrary>& libraries);
  /// A plugin brought these along.
  void add(const std::vector<NeededLibrary>& libraries);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::filesystem::path, std::uint64_t>, Library> libraries_;
  std::set<std::filesystem::path> brought_;
};

}  // namespace tenon

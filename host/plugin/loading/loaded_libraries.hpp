// The plugins' code in this process.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "plugin/loading/library.hpp"

namespace tenon {

/// What all hosts together have loaded. Nothing is ever unloaded, so that a second copy of the same file would take its memory for good.
/// Threads: any, at once.
class LoadedLibraries {
 public:
  static LoadedLibraries& of_this_process();

  /// Nothing where no file of that path and content was loaded.
  std::optional<Library> find(const std::filesystem::path& path, std::uint64_t content_hash);
  void add(const std::filesystem::path& path, std::uint64_t content_hash, const Library& library);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::filesystem::path, std::uint64_t>, Library> libraries_;
};

}  // namespace tenon

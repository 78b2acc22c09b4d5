#include "plugin/loading/loaded_libraries.hpp"

namespace tenon {

LoadedLibraries& LoadedLibraries::of_this_process() {
  static auto& all = *new LoadedLibraries;  // never destroyed, as what it knows of is not
  return all;
}

std::optional<Library> LoadedLibraries::find(const std::filesystem::path& path, std::uint64_t content_hash) {
  const std::lock_guard lock(mutex_);
  const auto found = libraries_.find({path, content_hash});
  if (found == libraries_.end()) return std::nullopt;
  return found->second;
}

void LoadedLibraries::add(const std::filesystem::path& path, std::uint64_t content_hash, const Library& library) {
  const std::lock_guard lock(mutex_);
  libraries_.emplace(std::pair(path, content_hash), library);
}

}  // namespace tenon

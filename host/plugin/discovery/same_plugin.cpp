#include "plugin/discovery/same_plugin.hpp"

#include <algorithm>
#include <system_error>

#include "plugin/loading/needed_libraries.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

bool bundles_libraries(const std::filesystem::path& path) {
  const auto libraries = find_needed_libraries(InputFile(path), path.parent_path());
  return std::any_of(libraries.begin() + 1, libraries.end(), [](const auto& library) {
    return library.found == NeededLibrary::Found::bundled;
  });
}

}  // namespace

std::uint64_t SamePlugins::hash_of(const std::filesystem::path& path) {
  const auto known = hashes_.find(path);
  return known != hashes_.end()
             ? known->second
             : hashes_.emplace(path, content_hash(InputFile(path))).first->second;
}

bool SamePlugins::have_same_content(const KnownPlugin& one, const KnownPlugin& other) {
  const auto same_manifest = [](const auto& a, const auto& b) {
    return !a->own_space && a->manifest == b->manifest;
  };
  return one.stamp.size == other.stamp.size && !one.operators.empty() &&
         std::equal(one.operators.begin(), one.operators.end(), other.operators.begin(),
                    other.operators.end(), same_manifest) &&
         one.path.filename() != other.path.filename() && hash_of(one.path) == hash_of(other.path);
}

bool SamePlugins::are_same(const KnownPlugin& one, const KnownPlugin& other) {
  const bool linked =
      one.stamp.device == other.stamp.device && one.stamp.number == other.stamp.number;
  std::error_code error;
  try {
    if (!linked && !have_same_content(one, other)) return false;
    return std::filesystem::equivalent(one.path.parent_path(), other.path.parent_path(), error) ||
           (!bundles_libraries(one.path) && !bundles_libraries(other.path));
  } catch (const PluginError&) {
    return false;  // one of them has changed meanwhile
  }
}

}  // namespace tenon

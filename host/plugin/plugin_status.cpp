#include <algorithm>
#include <tenon/host/catalog.hpp>

#include "io/open_file.hpp"

namespace tenon {

std::string_view name_of(PluginStatus status) {
  switch (status) {
    case PluginStatus::loaded:
      return "loaded";
    case PluginStatus::indexed:
      return "indexed";
    case PluginStatus::not_a_plugin:
      return "not a plugin";
    case PluginStatus::wrong_machine:
      return "wrong machine";
    case PluginStatus::needs_newer_host:
      return "needs a newer host";
    case PluginStatus::other_abi_major:
      return "built for another ABI major";
    case PluginStatus::broken_manifest:
      return "broken manifest";
    case PluginStatus::duplicate:
      return "duplicate";
    case PluginStatus::unresolved_symbol:
      return "unresolved symbol";
    case PluginStatus::not_loadable:
      return "cannot be loaded";
    case PluginStatus::crashed:
      return "crashed while loading";
    case PluginStatus::hung:
      return "hung while loading";
    case PluginStatus::quarantined:
      return "quarantined";
    case PluginStatus::untrusted:
      return "refused by trust";
    case PluginStatus::unlisted:
      return "not trusted";
  }
  return "unknown";
}

bool is_at(const PluginFile& file, const std::filesystem::path& path) {
  const auto whole = absolute_path(path);
  return whole == file.path ||
         std::find(file.also_at.begin(), file.also_at.end(), whole) != file.also_at.end();
}

bool is_called(const PluginFile& file, const std::string& word) {
  if (word.empty()) return false;
  const auto is_its_name = [&](const std::filesystem::path& path) {
    return word == path.filename() || word == path.stem();
  };
  return word == file.name || is_its_name(file.path) ||
         std::any_of(file.also_at.begin(), file.also_at.end(), is_its_name) || is_at(file, word);
}

std::string next_step(const PluginFile& file) {
  switch (file.status) {
    case PluginStatus::crashed:
    case PluginStatus::hung:
    case PluginStatus::quarantined:
      return "it stays quarantined until it or a library that it needs is rebuilt; `tenon trust " +
             file.path.string() + "` releases it now";
    case PluginStatus::untrusted:
      return "remove other users' write permission (chmod go-w), or accept plugins that others can "
             "write to";
    case PluginStatus::unlisted:
      return "if you trust its source, run `tenon trust add " + file.path.string() +
             "` to add its current content to your list";
    default:
      return "`tenon list` shows all plugins and their status";
  }
}

}  // namespace tenon

#include <tenon/host/catalog.hpp>

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

bool is_called(const PluginFile& file, const std::string& word) {
  if (word.empty()) return false;
  std::error_code error;
  const auto path = std::filesystem::absolute(word, error).lexically_normal();
  return word == file.name || word == file.path.filename() || word == file.path.stem() || path == file.path;
}

std::string next_step(const PluginFile& file) {
  switch (file.status) {
    case PluginStatus::crashed:
    case PluginStatus::hung:
    case PluginStatus::quarantined:
      return "it stays in quarantine until it is built anew; `tenon trust " + file.path.string() + "` lets it be tried again";
    case PluginStatus::untrusted:
      return "take the right to write away from others (chmod go-w), or accept plugins that others may write to";
    case PluginStatus::unlisted:
      return "if you know where it comes from, `tenon trust add " + file.path.string() + "` adds it, as it is now, to your list";
    default:
      return "`tenon list` shows all plugins and what became of them";
  }
}

}  // namespace tenon

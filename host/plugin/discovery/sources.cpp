#include "plugin/discovery/sources.hpp"

#include <algorithm>

namespace tenon {

bool PluginSource::provides(std::string_view op) const {
  return std::any_of(operators.begin(), operators.end(),
                     [&](const auto& info) { return info->name == op; });
}

void PluginSources::note_layer(const std::string& op, int layer) {
  const auto [entry, is_new] = first_layer.try_emplace(op, layer);
  if (!is_new) entry->second = std::min(entry->second, layer);
}

bool PluginSources::is_preferred(const OperatorInfo& op, int file, const std::string& word) const {
  if (op.space == word) return true;
  if (file < 0) return false;
  const auto& source = files[static_cast<std::size_t>(file)];
  PluginFile plugin;
  plugin.path = source.path;
  plugin.also_at = source.also_at;
  plugin.name = source.name;
  return is_called(plugin, word);
}

}  // namespace tenon

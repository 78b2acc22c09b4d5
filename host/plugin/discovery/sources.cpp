#include "plugin/discovery/sources.hpp"

#include <algorithm>

namespace tenon {

bool PluginSource::brings(std::string_view op) const {
  return std::any_of(operators.begin(), operators.end(), [&](const auto& info) { return info->name == op; });
}

void PluginSources::note_layer(const std::string& op, int layer) {
  const auto [entry, is_new] = first_layer.try_emplace(op, layer);
  if (!is_new) entry->second = std::min(entry->second, layer);
}

}  // namespace tenon

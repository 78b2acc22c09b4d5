// The public interface to the load history and to trust.
#include <fmt/format.h>

#include <tenon/host/trust.hpp>

#include "plugin/library_location.hpp"
#include "plugin/loading/load_history.hpp"
#include "plugin/loading/needed_libraries.hpp"
#include "plugin/loading/trust.hpp"
#include "plugin/plugin_error.hpp"

namespace tenon {
namespace {

// The file may have been replaced since the crash.
QuarantinedPlugin quarantined(const QuarantineEntry& entry) {
  QuarantinedPlugin plugin{.path = entry.plugin, .reason = entry.reason};
  try {
    if (load_key(entry.plugin, InputFile(entry.plugin)) != entry.key)
      plugin.file = QuarantinedPlugin::File::changed;
  } catch (const PluginError&) {
    plugin.file = QuarantinedPlugin::File::missing;
  }
  return plugin;
}

LoadHistory history_in(const std::filesystem::path& cache) {
  return LoadHistory(cache.empty() ? user_cache_folder() : cache);
}

}  // namespace

std::vector<QuarantinedPlugin> quarantined_plugins(const std::filesystem::path& cache) {
  const auto history = history_in(cache);
  std::vector<QuarantinedPlugin> plugins;
  for (const auto& entry : history.quarantine()) plugins.push_back(quarantined(entry));
  return plugins;
}

std::vector<QuarantinedPlugin> release_plugins(const std::filesystem::path& file_or_folder,
                                               const std::filesystem::path& cache) {
  auto path = std::filesystem::absolute(file_or_folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "dir/" means "dir"
  auto history = history_in(cache);
  const auto entries = history.quarantine();  // a copy, because forget() changes the list
  std::vector<QuarantinedPlugin> released;
  for (const auto& entry : entries) {
    if (entry.plugin != path && entry.plugin.parent_path() != path) continue;
    if (history.forget(entry.plugin) == 0 &&
        history.find_quarantined(entry.plugin, [&] { return entry.key; }) != nullptr)
      throw Failure(
          FailureKind::file,
          fmt::format("cannot release {} from quarantine: its record {} cannot be removed",
                      entry.plugin.string(), entry.record.string()));
    released.push_back(quarantined(entry));
  }
  return released;
}

std::string distrust_reason(const std::filesystem::path& plugin) {
  try {
    return Trust().fault(plugin, InputFile(plugin));
  } catch (const PluginError&) {
    return {};  // not a file; loading it reports that
  }
}

}  // namespace tenon

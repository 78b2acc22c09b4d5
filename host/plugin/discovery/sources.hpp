// Sources of operators and kernels: the files that were read, in the order of the calls that added
// them.
#pragma once
#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/host/catalog.hpp>
#include <vector>

#include "plugin/discovery/candidate.hpp"
#include "plugin/operator_name.hpp"

namespace tenon {

/// Precedence: a higher layer replaces a lower one; within a layer, the first folder wins.
struct Rank {
  /// layer of the host's own operators, which nothing replaces
  static constexpr int builtin_layer = std::numeric_limits<int>::max();
  int layer = 0, folder = 0;

  bool operator==(const Rank&) const = default;
  bool beats(const Rank& other) const {
    return layer != other.layer ? layer > other.layer : folder < other.folder;
  }
};

struct PluginSource {
  std::filesystem::path path;
  std::vector<std::filesystem::path> also_at;  ///< see PluginFile::also_at
  /// name of the plugin; for `note`, see Candidate::note
  std::string name, note;
  FileStamp stamp;
  std::vector<std::shared_ptr<const OperatorInfo>> operators;
  std::vector<KernelInfo> kernels;
  Rank rank;
  bool sound = false;    ///< neither refused nor superseded
  bool changed = false;  ///< superseded: it has changed and was read again

  bool provides(std::string_view op) const {
    return std::any_of(operators.begin(), operators.end(),
                       [&](const auto& info) { return info->name == op; });
  }
};

/// Not thread-safe.
struct PluginSources {
  std::vector<PluginSource> files;
  // first layer that added an operator of that full name
  std::map<std::string, int, std::less<>> first_layer;

  std::string path_of(int file) const {
    return file < 0 ? "the application" : files[static_cast<std::size_t>(file)].path.string();
  }
  void note_layer(const std::string& op, int layer) {
    const auto [entry, is_new] = first_layer.try_emplace(op, layer);
    if (!is_new) entry->second = std::min(entry->second, layer);
  }
  /// Selects the operator that a short name refers to: that of the first preferred plugin or
  /// namespace that has one, else the bundled one; end() if ambiguous. as_source returns an entry's
  /// description and file.
  template <class Entries, class AsSource>
  auto choose(const Entries& entries, const std::vector<std::string>& preferred,
              AsSource as_source) const {
    if (entries.size() == 1) return entries.begin();
    for (const auto& name : preferred)
      for (auto entry = entries.begin(); entry != entries.end(); ++entry)
        if (const auto [op, file] = as_source(*entry); is_preferred(*op, file, name)) return entry;
    return std::find_if(entries.begin(), entries.end(), [&](const auto& entry) {
      return as_source(entry).first->space == bundled_space;
    });
  }
  /// `name` is the operator's namespace, or its plugin as accepted by is_called().
  bool is_preferred(const OperatorInfo& op, int file, const std::string& name) const {
    if (op.space == name) return true;
    if (file < 0) return false;
    const auto& source = files[static_cast<std::size_t>(file)];
    PluginFile plugin;
    plugin.path = source.path;
    plugin.also_at = source.also_at;
    plugin.name = source.name;
    return is_called(plugin, name);
  }
};

}  // namespace tenon

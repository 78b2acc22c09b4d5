// Where operators and kernels come from: the files that were read, in the order of the calls that brought them.
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

/// When something was brought: what has the higher layer replaces what has a lower one; of one layer the first folder wins.
struct Rank {
  static constexpr int own_layer = std::numeric_limits<int>::max();  ///< of the host's own operators, which nothing replaces
  int layer = 0, folder = 0;

  bool operator==(const Rank&) const = default;
  bool beats(const Rank& other) const { return layer != other.layer ? layer > other.layer : folder < other.folder; }
};

struct PluginSource {
  std::filesystem::path path;
  std::vector<std::filesystem::path> also_at;  ///< as PluginFile::also_at
  std::string name, note;                      ///< of the plugin; see Candidate::note
  FileStamp stamp;
  std::vector<std::shared_ptr<const OperatorInfo>> operators;
  std::vector<KernelInfo> kernels;
  Rank rank;
  bool sound = false;    ///< neither refused when it was read nor superseded
  bool changed = false;  ///< superseded: read again since, because it has changed

  bool brings(std::string_view op) const;
};

/// Threads: one.
struct PluginSources {
  std::vector<PluginSource> files;
  std::map<std::string, int, std::less<>> first_layer;  // in which an operator of that full name was brought

  std::string path_of(int file) const { return file < 0 ? "the application" : files[static_cast<std::size_t>(file)].path.string(); }
  void note_layer(const std::string& op, int layer);
  /// Which of several operators a short name means: that of the first preferred plugin or space that has one, or else the one that comes
  /// with Tenon; the end: nothing decides. as_source gives an entry's description and file.
  template <class Entries, class AsSource>
  auto choose(const Entries& entries, const std::vector<std::string>& preferred, AsSource as_source) const {
    if (entries.size() == 1) return entries.begin();
    for (const auto& word : preferred)
      for (auto entry = entries.begin(); entry != entries.end(); ++entry)
        if (const auto [op, file] = as_source(*entry); is_preferred(*op, file, word)) return entry;
    return std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return as_source(entry).first->space == bundled_space; });
  }
  /// `word` is the operator's space, or its plugin as is_called() takes it.
  bool is_preferred(const OperatorInfo& op, int file, const std::string& word) const;
};

}  // namespace tenon

// Operators as files name them.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <tenon/host/catalog.hpp>
#include <vector>

namespace tenon {

struct CatalogIndex;

struct SavedOperator {
  std::string_view name;               ///< full; short in texts that people write, and in files of before 0.2
  const OperatorInfo* info = nullptr;  ///< from the manifest in the file; null: a text, which has none
  std::string_view plugin{};           ///< the name of the plugin that it came from; empty: not known, or none
  bool of_application = false;         ///< the file says that it came from no plugin
};

/// Its index among the catalog's operators; nowhere. A full name that is not here falls back to an operator with the short one, if there is
/// just one, so that nobody loses a file when a shared object gets another name. Not to a stranger's: where both authors say their space,
/// and differ, and to those that come with Tenon only if the file's was one of them; a text must name a space that an author says. A short
/// name means the operator of the plugin that the file names, if that has one. `note` becomes a sentence where another operator stands in,
/// to follow its user's name.
std::size_t find_saved(const CatalogIndex& index, const std::vector<PluginFile>& files, const SavedOperator& saved, std::string& note);

}  // namespace tenon

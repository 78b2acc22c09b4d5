// Operators as referenced by files.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <tenon/host/catalog.hpp>
#include <vector>

namespace tenon {

struct CatalogIndex;

struct SavedOperator {
  /// full name; short in texts that people write and in files older than 0.2
  std::string_view name;
  /// from the manifest in the file; null for a text, which has none
  const OperatorInfo* info = nullptr;
  /// name of the plugin it came from; empty if unknown or none
  std::string_view plugin{};
  bool of_application = false;  ///< according to the file, it did not come from a plugin
};

/// Returns the operator's index in the catalog, or nowhere. If a full name is missing, an operator
/// with the same short name may stand in if there is exactly one, so that renaming a shared object
/// does not break files. It may not if both authors declare namespaces and these differ, or if it
/// is a bundled operator and the file's was not; a text must use a namespace that an author
/// declared. A short name refers to the operator of the plugin that the file names, if that has
/// one. If another operator stands in, `note` is set to a sentence that follows the user's name.
std::size_t find_saved(const CatalogIndex& index, const std::vector<PluginFile>& files,
                       const SavedOperator& saved, std::string& note);

}  // namespace tenon

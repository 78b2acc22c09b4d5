#include <algorithm>
#include <tenon/catalog.hpp>

namespace tenon {

const CatalogOperator* Catalog::find(std::string_view name) const {
  const auto found = std::lower_bound(operators_.begin(), operators_.end(), name,
                                      [](const CatalogOperator& op, std::string_view wanted) { return op.info.name < wanted; });
  if (found != operators_.end() && found->info.name == name) return &*found;
  const auto alias = aliases_.find(name);
  return alias == aliases_.end() ? nullptr : &operators_[alias->second];
}

std::vector<std::string> Catalog::near(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& op : operators_) names.push_back(op.info.name);
  for (const auto& [alias, op] : aliases_) names.push_back(alias);
  return near_names(name, names);
}

std::string Catalog::why_missing(std::string_view name) const {
  if (find(name)) return {};
  if (const auto dispute = disputed_.find(name); dispute != disputed_.end()) return dispute->second;
  for (const PluginFile& file : files_) {
    if (file.usable() || std::find(file.operators.begin(), file.operators.end(), name) == file.operators.end()) continue;
    return file.path.string() + ", which has operator '" + std::string(name) + "', " + file.reason;
  }
  return {};
}

}  // namespace tenon

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

const PluginFile* Catalog::refused_file(std::string_view name) const {
  const auto found = std::find_if(files_.begin(), files_.end(), [&](const PluginFile& file) {
    return !file.usable() && std::find(file.operators.begin(), file.operators.end(), name) != file.operators.end();
  });
  return found == files_.end() ? nullptr : &*found;
}

std::string Catalog::why_missing(std::string_view name) const {
  if (find(name)) return {};
  if (const auto dispute = disputed_.find(name); dispute != disputed_.end()) return dispute->second;
  const PluginFile* file = refused_file(name);
  return file ? file->path.string() + ", which has operator '" + std::string(name) + "', " + file->reason : "";
}

std::string Catalog::next_step(std::string_view name) const {
  if (find(name) || disputed_.contains(name)) return {};
  const PluginFile* file = refused_file(name);
  return file ? tenon::next_step(*file) : "";
}

}  // namespace tenon

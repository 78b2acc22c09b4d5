#include <algorithm>
#include <tenon/host/catalog.hpp>

#include "plugin/catalog_index.hpp"

namespace tenon {

std::size_t CatalogIndex::find(std::string_view name) const {
  const auto found = std::lower_bound(operators.begin(), operators.end(), name,
                                      [](const CatalogOperator& op, std::string_view wanted) { return op.info.name < wanted; });
  if (found != operators.end() && found->info.name == name) return static_cast<std::size_t>(found - operators.begin());
  const auto alias = aliases.find(name);
  return alias == aliases.end() ? nowhere : alias->second;
}

Catalog::Catalog() : Catalog(std::make_shared<const CatalogIndex>(), std::make_shared<const std::vector<PluginFile>>()) {}

Catalog::Catalog(std::shared_ptr<const CatalogIndex> index, std::shared_ptr<const std::vector<PluginFile>> files)
    : index_(std::move(index)), files_(std::move(files)) {}

const std::vector<CatalogOperator>& Catalog::operators() const& {
  return index_->operators;
}
std::vector<CatalogOperator> Catalog::operators() const&& {
  return index_->operators;
}
const std::vector<std::string>& Catalog::notes() const& {
  return index_->notes;
}
std::vector<std::string> Catalog::notes() const&& {
  return index_->notes;
}
const std::vector<std::filesystem::path>& Catalog::searched() const& {
  return index_->searched;
}
std::vector<std::filesystem::path> Catalog::searched() const&& {
  return index_->searched;
}

const CatalogOperator* Catalog::find(std::string_view name) const& {
  const auto found = index_->find(name);
  return found == CatalogIndex::nowhere ? nullptr : &index_->operators[found];
}

std::shared_ptr<const CatalogOperator> Catalog::find(std::string_view name) const&& {
  const auto* found = find(name);
  return found == nullptr ? nullptr : std::shared_ptr<const CatalogOperator>(index_, found);
}

std::vector<std::string> Catalog::near(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& op : index_->operators) names.push_back(op.info.name);
  for (const auto& [alias, op] : index_->aliases) names.push_back(alias);
  return near_names(name, names);
}

const PluginFile* Catalog::refused_file(std::string_view name) const {
  const auto found = std::find_if(files_->begin(), files_->end(), [&](const PluginFile& file) {
    return !file.usable() && std::find(file.operators.begin(), file.operators.end(), name) != file.operators.end();
  });
  return found == files_->end() ? nullptr : &*found;
}

std::string Catalog::why_missing(std::string_view name) const {
  if (find(name)) return {};
  if (const auto dispute = index_->disputed.find(name); dispute != index_->disputed.end()) return dispute->second;
  const PluginFile* file = refused_file(name);
  return file ? file->path.string() + ", which has operator '" + std::string(name) + "', " + file->reason : "";
}

std::string Catalog::next_step(std::string_view name) const {
  if (find(name) || index_->disputed.contains(name)) return {};
  const PluginFile* file = refused_file(name);
  return file ? tenon::next_step(*file) : "";
}

}  // namespace tenon

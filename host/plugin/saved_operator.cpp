#include "plugin/saved_operator.hpp"

#include <algorithm>

#include "plugin/operator_name.hpp"

namespace tenon {
namespace {

/// Returns whether the operator's plugin has that name, either its own or that of one of its paths.
bool is_of_plugin(const CatalogOperator& op, const std::vector<PluginFile>& files,
                  std::string_view plugin) {
  if (plugin.empty() || op.file < 0) return false;
  const auto& file = files[static_cast<std::size_t>(op.file)];
  return file.name == plugin ||
         std::any_of(file.also_at.begin(), file.also_at.end(),
                     [&](const auto& path) { return path.stem().native() == plugin; });
}

bool may_stand_in(const CatalogOperator& op, const std::vector<PluginFile>& files,
                  const SavedOperator& saved) {
  if (op.file >= 0 && !op.info.own_space) return true;
  if (is_of_plugin(op, files, saved.plugin)) return true;
  if (saved.info == nullptr) return false;
  if (saved.info->manifest == op.info.manifest) return true;
  return saved.info->own_space ? saved.info->space == op.info.space
                               : op.info.space != bundled_space;
}

std::size_t find_short(const CatalogIndex& index, const std::vector<PluginFile>& files,
                       const SavedOperator& saved) {
  const auto found = index.names.find(saved.name);
  if (found == index.names.end()) return CatalogIndex::nowhere;
  std::size_t fallback = CatalogIndex::nowhere;
  int count = 0;
  for (const auto i : found->second.operators) {
    const auto& op = index.operators[i];
    const bool fits = saved.of_application ? op.file < 0 : is_of_plugin(op, files, saved.plugin);
    if (fits) fallback = i, ++count;
  }
  return count == 1 ? fallback : found->second.chosen;
}

}  // namespace

std::size_t find_saved(const CatalogIndex& index, const std::vector<PluginFile>& files,
                       const SavedOperator& saved, std::string& note) {
  if (space_in(saved.name).empty()) return find_short(index, files, saved);
  if (const auto found = index.find(saved.name); found != CatalogIndex::nowhere) return found;
  const auto same = index.names.find(short_name(saved.name));
  if (!is_operator_name(saved.name) || same == index.names.end() ||
      same->second.operators.size() != 1)
    return CatalogIndex::nowhere;
  const auto other = same->second.operators[0];
  const auto& op = index.operators[other];
  if (!may_stand_in(op, files, saved)) return CatalogIndex::nowhere;
  note = "operator '" + std::string(saved.name) + "' is not available; '" + op.full_name() + "'" +
         (op.file < 0 ? "" : " of " + files[static_cast<std::size_t>(op.file)].path.string()) +
         " is used instead";
  return other;
}

}  // namespace tenon

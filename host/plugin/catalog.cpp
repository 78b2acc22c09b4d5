#include <algorithm>
#include <tenon/host/catalog.hpp>

#include "plugin/catalog_index.hpp"
#include "plugin/operator_name.hpp"

namespace tenon {

std::size_t CatalogIndex::find(std::string_view name, std::string_view home) const {
  const auto found = names.find(short_name(name));
  if (found == names.end()) return nowhere;
  const auto in_space = [&](std::string_view space) {
    const auto& all = found->second.operators;
    auto op = std::find_if(all.begin(), all.end(),
                           [&](auto i) { return operators[i].info.space == space; });
    if (op == all.end())
      op = std::find_if(all.begin(), all.end(), [&](auto i) {
        return operators[i].has_file_space() &&
               also_spaces.contains({std::string(space), operators[i].file});
      });
    return op == all.end() ? nowhere : *op;
  };
  if (name.size() != found->first.size()) return in_space(space_in(name));
  if (home.empty()) return found->second.chosen;
  if (const auto in_home = in_space(home); in_home != nowhere) return in_home;
  const auto bundled = in_space(bundled_space);
  return bundled == nowhere ? found->second.chosen : bundled;
}

std::string CatalogIndex::dispute(std::string_view name) const {
  const bool full = !space_in(name).empty();
  for (const auto& [claimed, sentence] : disputed)
    if ((full ? std::string_view(claimed) : short_name(claimed)) == name) return sentence;
  return {};
}

Catalog::Catalog()
    : Catalog(std::make_shared<const CatalogIndex>(),
              std::make_shared<const std::vector<PluginFile>>()) {}

Catalog::Catalog(std::shared_ptr<const CatalogIndex> index,
                 std::shared_ptr<const std::vector<PluginFile>> files)
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

const std::vector<std::string>& Catalog::not_searched() const& {
  return index_->not_searched;
}
std::vector<std::string> Catalog::not_searched() const&& {
  return index_->not_searched;
}

std::string Catalog::not_searched_text() const {
  std::string text;
  for (const auto& sentence : index_->not_searched) text += "; " + sentence;
  return text;
}

const CatalogOperator* Catalog::find(std::string_view name) const& {
  const auto found = index_->find(name);
  return found == CatalogIndex::nowhere ? nullptr : &index_->operators[found];
}

std::shared_ptr<const CatalogOperator> Catalog::find(std::string_view name) const&& {
  const auto* found = find(name);
  return found == nullptr ? nullptr : std::shared_ptr<const CatalogOperator>(index_, found);
}

std::vector<OnnxClaim> Catalog::find_onnx(std::string_view domain, std::string_view type,
                                          int version) const& {
  const auto of_type = index_->onnx.find(type);
  if (of_type == index_->onnx.end()) return {};
  const auto forms = of_type->second.find(domain == "ai.onnx" ? std::string_view() : domain);
  if (forms == of_type->second.end()) return {};
  std::vector<OnnxClaim> claims;
  for (const auto& [op, form] : forms->second)
    if (form->covers(version)) claims.push_back({&index_->operators[op], form});
  return claims;
}

std::string Catalog::shortest_name(const CatalogOperator& op) const {
  const auto* resolved = find(op.info.name);
  return resolved != nullptr && resolved->description == op.description ? op.info.name
                                                                        : op.full_name();
}

std::vector<std::string> Catalog::near(std::string_view name) const {
  if (!space_in(name).empty()) return near_full_name(name);
  std::vector<std::string> names, same;
  for (const auto& [known, meaning] : index_->names) {
    if (meaning.chosen != CatalogIndex::nowhere) names.push_back(known);
    for (const auto op : meaning.operators)
      if (known == name) same.push_back(index_->operators[op].info.space + '.' + known);
  }
  if (!same.empty()) return same.size() > 3 ? std::vector(same.begin(), same.begin() + 3) : same;
  return similar_names(name, names);
}

// A full name does not suggest another vendor's operator just because the whole names look alike:
// one part must match exactly, the other nearly. Namespaces taken from file names may change.
std::vector<std::string> Catalog::near_full_name(std::string_view name) const {
  const auto space = space_in(name), own = short_name(name);
  std::vector<std::string> spaces, names, found;
  for (const auto& [known, meaning] : index_->names)
    for (const auto op : meaning.operators) {
      const auto& other = index_->operators[op].info.space;
      if (known == own && index_->operators[op].has_file_space())
        found.push_back(other + '.' + known);
      if (known == own) spaces.push_back(other);
      if (other == space) names.push_back(known);
    }
  for (const auto& near : similar_names(own, names))
    found.push_back(std::string(space) + '.' + near);
  for (const auto& near : similar_names(space, spaces))
    found.push_back(near + '.' + std::string(own));
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  found.resize(std::min<std::size_t>(found.size(), 3));
  return found;
}

const PluginFile* Catalog::refused_file(std::string_view name) const {
  // Use the last one: a file that was read again comes after its earlier record.
  const auto found = std::find_if(files_->rbegin(), files_->rend(), [&](const PluginFile& file) {
    return !file.usable() && std::find(file.operators.begin(), file.operators.end(),
                                       short_name(name)) != file.operators.end();
  });
  return found == files_->rend() ? nullptr : &*found;
}

std::string Catalog::ambiguity(std::string_view name) const {
  const auto found = index_->names.find(name);
  if (found == index_->names.end() || found->second.operators.size() < 2) return {};
  std::string texts;
  for (const auto i : found->second.operators) {
    const auto& op = index_->operators[i];
    texts += texts.empty()                         ? "it may refer to "
             : i == found->second.operators.back() ? " or "
                                                   : ", ";
    texts += op.full_name();
    if (op.file >= 0) texts += " of " + (*files_)[static_cast<std::size_t>(op.file)].path.string();
    if (op.file < 0 && op.info.space != bundled_space) texts += " of the application";
  }
  return texts;
}

std::string Catalog::why_missing(std::string_view name) const {
  if (find(name)) return {};
  if (auto several = ambiguity(name); !several.empty()) return several;
  if (auto dispute = index_->dispute(name); !dispute.empty()) return dispute;
  const PluginFile* file = refused_file(name);
  return file ? file->path.string() + ", which has operator '" + std::string(short_name(name)) +
                    "', " + file->reason
              : "";
}

std::string Catalog::next_step(std::string_view name) const {
  if (find(name)) return {};
  if (!ambiguity(name).empty()) {
    const auto& several = index_->names.find(name)->second.operators;
    const auto hint = "use the full name, or prefer a plugin or namespace, such as '" +
                      index_->operators[several.front()].info.space + "'";
    const bool by_file = std::any_of(several.begin(), several.end(),
                                     [&](auto i) { return index_->operators[i].has_file_space(); });
    return (by_file ? file_space_hint + ("; " + hint) : hint);
  }
  if (!index_->dispute(name).empty()) return {};
  const PluginFile* file = refused_file(name);
  return file ? tenon::next_step(*file) : "";
}

}  // namespace tenon

#include "plugin/catalog_builder.hpp"

#include <algorithm>
#include <functional>
#include <tenon/host/failure.hpp>

#include "plugin/operator_conflict.hpp"
#include "plugin/operator_name.hpp"
#include "plugin/short_names.hpp"

namespace tenon {
namespace {

/// Builds one catalog.
class Building {
 public:
  Building(const PluginSources& sources, const std::set<int>& named, const CatalogIndex& before,
           CatalogIndex& index)
      : sources_(sources), named_(named), before_(before), index_(index) {}

  void settle(const Claims& claims);
  void list(const std::function<InProcessOperator(const std::string&)>& in_process_of,
            const std::vector<std::string>& preferred);
  std::vector<std::string> unused() const;

 private:
  std::shared_ptr<const Definition> before(const ResolvedOperator& winner) const;
  std::shared_ptr<const Definition> define(const ResolvedOperator& winner,
                                           InProcessOperator in_process, const KernelTable& table,
                                           std::shared_ptr<const Definition> old) const;
  void find_other_versions(const std::vector<ResolvedOperator>& claims,
                           const ResolvedOperator& winner);
  void define_other_version(ResolvedOperator other, const ResolvedOperator& winner);
  std::string reason_unused(std::size_t file) const;

  const PluginSources& sources_;
  const std::set<int>& named_;
  const CatalogIndex& before_;
  CatalogIndex& index_;
  ResolvedOperators winners_;
  KernelTable kernels_;
  // files that only provide other versions, and one version of each
  std::map<int, int> other_files_;
};

void Building::settle(const Claims& claims) {
  for (const auto& [name, of_name] : claims) {
    OperatorConflict contest(of_name, sources_, index_.notes);
    if (!contest.winner()) {
      index_.disputed[name] = contest.dispute();
      continue;
    }
    auto& winner = winners_.emplace(name, *contest.winner()).first->second;
    const auto old = before(winner);
    winner.since = old ? old->since : winner.rank.layer;
    find_other_versions(of_name, winner);
  }
}

// For each other version, finds the candidate that would win among those of that version.
void Building::find_other_versions(const std::vector<ResolvedOperator>& claims,
                                   const ResolvedOperator& winner) {
  std::map<int, std::vector<ResolvedOperator>> by_version;
  const bool only_named = named_.contains(winner.file);
  for (const auto& claim : claims)
    if (claim.info->version != winner.info->version && (!only_named || named_.contains(claim.file)))
      by_version[claim.info->version].push_back(claim);
  for (const auto& [version, of_version] : by_version) {
    std::vector<std::string> notes;
    const OperatorConflict contest(of_version, sources_, notes);
    if (contest.winner() && contest.winner()->file >= 0)
      define_other_version(*contest.winner(), winner);
  }
}

// It gets the kernels of its own file, and those of its folder if the operator that the name refers
// to is in another folder.
void Building::define_other_version(ResolvedOperator other, const ResolvedOperator& winner) {
  auto sources = sources_;
  for (std::size_t i = 0; i < sources.files.size(); ++i)
    sources.files[i].sound =
        sources.files[i].sound &&
        (static_cast<int>(i) == other.file ||
         (sources.files[i].rank == other.rank && !(winner.rank == other.rank)));
  const auto name = other.info->full_name();
  other.since = other.rank.layer;
  KernelTable kernels;
  kernels.settle(sources, {{name, other}});
  const auto old = before_.other_versions.find(name);
  const auto known = [&](const auto& definition) { return definition->info == other.info; };
  std::shared_ptr<const Definition> same;
  if (old != before_.other_versions.end())
    if (const auto found = std::find_if(old->second.begin(), old->second.end(), known);
        found != old->second.end())
      same = *found;
  index_.other_versions[name].push_back(define(other, {}, kernels, same));
  other_files_[other.file] = other.info->version;
}

void Building::list(const std::function<InProcessOperator(const std::string&)>& in_process_of,
                    const std::vector<std::string>& preferred) {
  auto kernel_notes = kernels_.settle(sources_, winners_, preferred);
  std::vector<const ResolvedOperators::value_type*> sorted;
  for (const auto& winner : winners_) sorted.push_back(&winner);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return a->second.info->name < b->second.info->name;
  });
  for (const auto* entry : sorted) {
    const auto& [name, winner] = *entry;
    index_.operators.emplace_back(winner.info, winner.file, kernels_.devices(name));
    auto& listed = index_.operators.back();
    for (const auto& device : listed.devices) {
      listed.kernel_files.push_back(kernels_.find(name, device).file);
      for (const auto& variant : kernels_.variants(name, device))
        listed.variants.push_back({variant.variant, device, variant.file});
    }
    for (const auto& form : listed.info.onnx)
      index_.onnx[form.type][form.domain].emplace_back(index_.operators.size() - 1, &form);
    index_.definitions.push_back(define(winner,
                                        winner.file < 0 ? in_process_of(name) : InProcessOperator(),
                                        kernels_, before(winner)));
  }
  ShortNames(sources_, winners_, preferred, index_).settle();
  for (auto& sentence : kernel_notes) index_.notes.push_back(std::move(sentence));
  for (const auto& [name, sentence] : index_.disputed) index_.notes.push_back(sentence);
  for (std::size_t i = 0; i < sources_.files.size(); ++i) {
    const auto& file = sources_.files[i];
    if (file.sound && !file.note.empty()) index_.notes.push_back(file.note);
    for (const auto& path : file.also_at)
      index_.also_spaces.emplace(space_of_plugin(path.stem().string()), static_cast<int>(i));
  }
}

/// Returns the operator's earlier definition if the name already referred to it, else null.
std::shared_ptr<const Definition> Building::before(const ResolvedOperator& winner) const {
  const auto known = before_.find(winner.info->full_name());
  if (known == CatalogIndex::nowhere || before_.definitions[known]->info != winner.info)
    return nullptr;
  return before_.definitions[known];
}

// Unchanged definitions stay the same object, because it records whether the operator is loaded.
std::shared_ptr<const Definition> Building::define(const ResolvedOperator& winner,
                                                   InProcessOperator in_process,
                                                   const KernelTable& table,
                                                   std::shared_ptr<const Definition> old) const {
  const auto name = winner.info->full_name();
  ByDevice<KernelChoice> kernels;
  ByDevice<std::vector<KernelChoice>> variants;
  for (const auto& type : device_types) {
    kernels[type.number] = table.find(name, type.name);
    variants[type.number] = table.variants(name, type.name);
  }
  if (old && old->kernels == kernels && old->variants == variants) return old;
  auto definition = std::make_shared<Definition>();
  definition->info = winner.info;
  definition->file = winner.file;
  definition->since = winner.since;
  definition->in_process = std::move(in_process);
  definition->kernels = kernels;
  definition->variants = std::move(variants);
  return definition;
}

std::vector<std::string> Building::unused() const {
  std::vector<bool> used(sources_.files.size());
  for (const auto& [name, winner] : winners_)
    if (winner.file >= 0) used[static_cast<std::size_t>(winner.file)] = true;
  std::vector<std::string> reasons(sources_.files.size());
  for (std::size_t i = 0; i < used.size(); ++i)
    if (!used[i] && !kernels_.uses(static_cast<int>(i))) reasons[i] = reason_unused(i);
  return reasons;
}

std::string Building::reason_unused(std::size_t number) const {
  const PluginSource& file = sources_.files[number];
  if (file.changed) return "is not used: it has changed and was read again";
  if (file.operators.empty())
    return "has only kernels that other files also have, or kernels of replaced operators";
  const auto name = file.operators[0]->full_name();
  if (const auto dispute = index_.disputed.find(name); dispute != index_.disputed.end())
    return "is not used: " + dispute->second;
  const std::string rest = file.operators.size() > 1 ? ", and so is everything else in it" : "";
  if (const auto other = other_files_.find(static_cast<int>(number)); other != other_files_.end())
    return "is used only for graphs that need version " + std::to_string(other->second) +
           ": operator '" + name + "' is taken from " + sources_.path_of(winners_.at(name).file) +
           rest;
  return "is not used: operator '" + name + "' is taken from " +
         sources_.path_of(winners_.at(name).file) + rest;
}

}  // namespace

int CatalogBuilder::add_file(Candidate candidate, int old) {
  if (old < 0) {
    old = static_cast<int>(sources_.files.size());
    sources_.files.emplace_back();
  }
  PluginSource& file = sources_.files[static_cast<std::size_t>(old)];
  file.path = std::move(candidate.file.path);
  file.also_at.clear();
  file.name = std::move(candidate.file.name);
  file.note = std::move(candidate.note);
  file.stamp = candidate.stamp;
  file.operators = std::move(candidate.operators);
  file.kernels = std::move(candidate.file.kernels);
  file.sound = candidate.file.usable();
  return old;
}

void CatalogBuilder::add_path(int number, const std::filesystem::path& path) {
  auto& paths = sources_.files[static_cast<std::size_t>(number)].also_at;
  if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
}

void CatalogBuilder::supersede(int number) {
  PluginSource& file = sources_.files[static_cast<std::size_t>(number)];
  file.sound = false;
  file.changed = true;
}

void CatalogBuilder::add_layer(const std::vector<std::vector<int>>& folders, Layer layer) {
  const int number = layer == Layer::defaults ? 0 : ++layers_;
  for (std::size_t folder = 0; folder < folders.size(); ++folder) {
    for (const int i : folders[folder]) {
      PluginSource& file = sources_.files[static_cast<std::size_t>(i)];
      file.rank = {number, static_cast<int>(folder)};
      if (!file.sound) continue;
      for (const auto& info : file.operators) sources_.note_layer(info->full_name(), number);
    }
  }
}

void CatalogBuilder::add_named(const std::vector<int>& files) {
  add_layer({files});
  named_.insert(files.begin(), files.end());
}

std::string CatalogBuilder::add_application_operator(OperatorInfo info,
                                                     InProcessOperator in_process) {
  if (info.space.empty()) info.space = application_space;
  if (info.space == bundled_space) {
    throw Failure(FailureKind::usage,
                  "operator '" + info.full_name() + "' cannot be added: the namespace '" +
                      info.space + "' is reserved for operators that come with Tenon",
                  "choose another op.space(), or leave it out");
  }
  auto name = info.full_name();
  application_[name] = {
      std::make_shared<const OperatorInfo>(std::move(info)), std::move(in_process), {++layers_, 0}};
  sources_.note_layer(name, layers_);
  return name;
}

void CatalogBuilder::add_builtin(OperatorInfo info, InProcessOperator in_process) {
  info.space = bundled_space;
  const auto name = info.full_name();
  builtin_[name] = {std::make_shared<const OperatorInfo>(std::move(info)),
                    std::move(in_process),
                    {Rank::builtin_layer, 0}};
}

CatalogBuilder::Built CatalogBuilder::build(const CatalogIndex& before) const {
  Claims claims;
  for (const auto* operators : {&builtin_, &application_})
    for (const auto& [name, op] : *operators) claims[name].push_back({op.info, -1, op.rank});
  for (std::size_t i = 0; i < sources_.files.size(); ++i) {
    if (!sources_.files[i].sound) continue;
    for (const auto& info : sources_.files[i].operators)
      claims[info->full_name()].push_back({info, static_cast<int>(i), sources_.files[i].rank});
  }
  auto index = std::make_shared<CatalogIndex>();
  Building building(sources_, named_, before, *index);
  building.settle(claims);
  building.list(
      [&](const std::string& name) {
        const auto builtin = builtin_.find(name);
        return builtin != builtin_.end() ? builtin->second.in_process
                                         : application_.at(name).in_process;
      },
      preferred_);
  index->searched = searched_;
  index->not_searched = not_searched_;
  index->notes.insert(index->notes.end(), not_searched_.begin(), not_searched_.end());
  auto unused = building.unused();
  return {std::move(index), std::move(unused)};
}

}  // namespace tenon

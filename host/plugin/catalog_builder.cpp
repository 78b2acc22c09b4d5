#include "plugin/catalog_builder.hpp"

#include <algorithm>
#include <set>
#include <tenon/failure.hpp>

namespace tenon {
namespace {

std::string versioned(const OperatorInfo& info) {
  return "operator '" + info.name + "' version " + std::to_string(info.version);
}

}  // namespace

void CatalogBuilder::add(std::vector<Candidate> candidates) {
  for (Candidate& candidate : candidates) {
    const int file = static_cast<int>(catalog_.files_.size());
    catalog_.files_.push_back(std::move(candidate.file));
    for (OperatorInfo& info : candidate.operators) claim(std::move(info), file);
  }
  finish();
}

void CatalogBuilder::add_own(OperatorInfo info) {
  if (catalog_.find(info.name)) {
    throw Failure(FailureKind::usage, "operator '" + info.name + "' cannot be added: the catalog has an operator of that name",
                  "give it another name, or add it before the plugins are read");
  }
  Contest& contest = contests_[info.name];
  contest = {};
  win(contest, std::move(info), -1);
  finish();
}

void CatalogBuilder::claim(OperatorInfo info, int file) {
  const auto [entry, is_new] = contests_.try_emplace(info.name);
  Contest& contest = entry->second;
  if (is_new) {
    win(contest, std::move(info), file);
  } else if (contest.files[0] < 0) {
    note(versioned(info) + " in " + path_of(file) + " is not used: the application has an operator of that name");
  } else if (info.version > contest.version) {
    note("operator '" + info.name + "': version " + std::to_string(info.version) + " in " + path_of(file) + " is used, not version " +
         std::to_string(contest.version) + " in " + path_of(contest.files[0]));
    win(contest, std::move(info), file);
  } else if (info.version < contest.version) {
    if (!contest.disputed) {
      note("operator '" + info.name + "': version " + std::to_string(contest.version) + " in " + path_of(contest.files[0]) +
           " is used, not version " + std::to_string(info.version) + " in " + path_of(file));
    }
  } else {
    settle_equal(contest, info, file);
  }
}

void CatalogBuilder::settle_equal(Contest& contest, const OperatorInfo& info, int file) {
  if (!contest.disputed && catalog_.operators_[contest.place].info.manifest == info.manifest) {
    note(versioned(info) + " is in " + path_of(contest.files[0]) + " and, with the same manifest, in " + path_of(file) +
         ": the first is used");
    return;
  }
  contest.files.push_back(file);
  if (!contest.disputed) catalog_.operators_[contest.place].info.name.clear();  // sort_operators() drops it
  contest.disputed = true;
  std::string sentence = versioned(info) + " is in ";
  for (std::size_t i = 0; i < contest.files.size(); ++i) sentence += (i == 0 ? "" : " and in ") + path_of(contest.files[i]);
  catalog_.disputed_[info.name] = sentence + " with different manifests, so that none is used: remove one of the files";
}

void CatalogBuilder::win(Contest& contest, OperatorInfo info, int file) {
  const bool has_place = !contest.files.empty() && !contest.disputed;
  catalog_.disputed_.erase(info.name);
  contest.version = info.version;
  contest.files = {file};
  contest.disputed = false;
  if (!has_place) {
    contest.place = catalog_.operators_.size();
    catalog_.operators_.emplace_back();
  }
  catalog_.operators_[contest.place] = {std::move(info), file, {}};
}

void CatalogBuilder::finish() {
  sort_operators();
  catalog_.notes_ = operator_notes_;
  index_aliases();
  for (std::string& sentence : kernels_.settle(catalog_.files_, catalog_.operators_)) catalog_.notes_.push_back(std::move(sentence));
  for (const auto& [name, sentence] : catalog_.disputed_) catalog_.notes_.push_back(sentence);
  mark_duplicates();
}

void CatalogBuilder::sort_operators() {
  auto& operators = catalog_.operators_;
  std::erase_if(operators, [](const CatalogOperator& op) { return op.info.name.empty(); });
  std::sort(operators.begin(), operators.end(), [](const auto& left, const auto& right) { return left.info.name < right.info.name; });
  for (std::size_t i = 0; i < operators.size(); ++i) contests_[operators[i].info.name].place = i;
}

/// A name beats an alias. An alias of two operators means neither.
void CatalogBuilder::index_aliases() {
  const auto& operators = catalog_.operators_;
  catalog_.aliases_.clear();
  std::set<std::string> ambiguous;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    for (const std::string& alias : operators[i].info.aliases) {
      const std::string as_alias = "'" + alias + "' is an alias of operator '" + operators[i].info.name + "'";
      if (const auto contest = contests_.find(alias); contest != contests_.end()) {
        catalog_.notes_.push_back(as_alias + " and an operator's name: it means the operator of that name");
      } else if (const auto [entry, is_new] = catalog_.aliases_.try_emplace(alias, i); !is_new) {
        ambiguous.insert(alias);
        catalog_.notes_.push_back(as_alias + " and of operator '" + operators[entry->second].info.name + "': it means neither");
      }
    }
  }
  for (const std::string& alias : ambiguous) catalog_.aliases_.erase(alias);
}

void CatalogBuilder::mark_duplicates() {
  std::set<int> winners;
  for (const CatalogOperator& op : catalog_.operators_) winners.insert(op.file);
  for (std::size_t i = 0; i < catalog_.files_.size(); ++i) {
    PluginFile& file = catalog_.files_[i];
    if (file.status != PluginStatus::indexed && file.status != PluginStatus::duplicate) continue;
    const int number = static_cast<int>(i);
    const bool used = winners.contains(number) || kernels_.uses(number);
    file.status = used ? PluginStatus::indexed : PluginStatus::duplicate;
    file.reason = used ? "" : reason_unused(file);
  }
}

std::string CatalogBuilder::reason_unused(const PluginFile& file) const {
  const std::string rest = file.operators.size() > 1 ? ", and likewise all else in it" : "";
  if (file.operators.empty()) return "has only kernels that other files have too";
  const std::string& name = file.operators[0];
  if (const auto dispute = catalog_.disputed_.find(name); dispute != catalog_.disputed_.end()) return "is not used: " + dispute->second;
  return "is not used: operator '" + name + "' is taken from " + path_of(contests_.at(name).files[0]) + rest;
}

std::string CatalogBuilder::path_of(int file) const {
  return file < 0 ? "the application" : catalog_.files_[static_cast<std::size_t>(file)].path.string();
}

void CatalogBuilder::note(std::string sentence) {
  operator_notes_.push_back(std::move(sentence));
}

}  // namespace tenon

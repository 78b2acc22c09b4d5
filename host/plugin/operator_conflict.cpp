#include "plugin/operator_conflict.hpp"

#include <algorithm>

namespace tenon {

OperatorConflict::OperatorConflict(std::vector<ResolvedOperator> claims,
                                   const PluginSources& sources, std::vector<std::string>& notes)
    : sources_(sources), notes_(notes) {
  std::stable_sort(claims.begin(), claims.end(),
                   [](const ResolvedOperator& left, const ResolvedOperator& right) {
                     return left.rank.beats(right.rank);
                   });
  const auto* const end = claims.data() + claims.size();
  for (const auto* folder = claims.data(); folder != end;) {
    const auto* const next = std::find_if(
        folder, end, [&](const ResolvedOperator& claim) { return claim.rank != folder->rank; });
    if (winner_)
      std::for_each(folder, next, [&](const ResolvedOperator& claim) { note_loser(claim); });
    else
      settle_folder(folder, next);
    folder = next;
  }
  if (winner_ && !dispute_.empty()) notes_.push_back(dispute_);
}

void OperatorConflict::settle_folder(const ResolvedOperator* begin, const ResolvedOperator* end) {
  disputed_.clear();
  std::for_each(begin, end, [&](const ResolvedOperator& claim) { consider(claim); });
  if (disputed_.empty()) return;
  winner_.reset();
  std::string sentence = versioned(disputed_[0]) + " is in ";
  for (std::size_t i = 0; i < disputed_.size(); ++i)
    sentence += (i == 0 ? "" : " and in ") + path(disputed_[i]);
  dispute_ = sentence + " with different manifests, so neither is used: remove one of the files";
}

// winner_ is the highest version so far; disputed_ has all candidates of that version if there are
// several.
void OperatorConflict::consider(const ResolvedOperator& claim) {
  if (!winner_) {
    winner_ = claim;
  } else if (claim.info->version > winner_->info->version) {
    notes_.push_back("operator '" + claim.info->full_name() + "': version " +
                     std::to_string(claim.info->version) + " in " + path(claim) +
                     " is used, not version " + std::to_string(winner_->info->version) + " in " +
                     path(*winner_));
    winner_ = claim;
    disputed_.clear();
  } else if (claim.info->version == winner_->info->version) {
    add_equal_version(claim);
  } else if (disputed_.empty()) {
    notes_.push_back("operator '" + claim.info->full_name() + "': version " +
                     std::to_string(winner_->info->version) + " in " + path(*winner_) +
                     " is used, not version " + std::to_string(claim.info->version) + " in " +
                     path(claim));
  }
}

void OperatorConflict::add_equal_version(const ResolvedOperator& claim) {
  if (disputed_.empty() && claim.info->manifest == winner_->info->manifest) {
    notes_.push_back(versioned(claim) + " is in " + path(*winner_) +
                     " and, with the same manifest, in " + path(claim) + ": the first is used");
    return;
  }
  if (disputed_.empty()) disputed_.push_back(*winner_);
  disputed_.push_back(claim);
}

void OperatorConflict::note_loser(const ResolvedOperator& claim) {
  const std::string begin = versioned(claim) + " of " + path(claim) + " is not used: ";
  if (winner_->rank.layer == Rank::builtin_layer)
    notes_.push_back(begin + "it is built into the host");
  else if (winner_->rank.layer == claim.rank.layer)
    notes_.push_back(begin + "the folder of " + path(*winner_) +
                     ", which also has it, comes first");
  else
    notes_.push_back(begin + path(*winner_) + ", which was added later, also has it");
}

std::string OperatorConflict::versioned(const ResolvedOperator& claim) const {
  return "operator '" + claim.info->full_name() + "' version " +
         std::to_string(claim.info->version);
}

}  // namespace tenon

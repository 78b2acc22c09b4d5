// Resolution of conflicts over an operator's full name.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugin/discovery/kernel_table.hpp"
#include "plugin/discovery/sources.hpp"

namespace tenon {

/// All candidates for each full name, in the order of files.
using Claims = std::map<std::string, std::vector<ResolvedOperator>, std::less<>>;

/// Resolves one name by the rules of CatalogBuilder and adds a note for each losing candidate.
class OperatorConflict {
 public:
  OperatorConflict(std::vector<ResolvedOperator> claims, const PluginSources& sources,
                   std::vector<std::string>& notes);

  /// std::nullopt if all candidates are disputed
  const std::optional<ResolvedOperator>& winner() const { return winner_; }
  const std::string& dispute() const { return dispute_; }  ///< the reason, as a sentence

 private:
  void settle_folder(const ResolvedOperator* begin, const ResolvedOperator* end);
  void consider(const ResolvedOperator& claim);
  void add_equal_version(const ResolvedOperator& claim);
  void note_loser(const ResolvedOperator& claim);
  std::string versioned(const ResolvedOperator& claim) const;
  std::string path(const ResolvedOperator& claim) const { return sources_.path_of(claim.file); }

  const PluginSources& sources_;
  std::vector<std::string>& notes_;
  std::optional<ResolvedOperator> winner_;
  std::vector<ResolvedOperator>
      disputed_;  // candidates with the highest version in the current folder
  std::string dispute_;
};

}  // namespace tenon

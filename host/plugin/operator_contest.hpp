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
using Claims = std::map<std::string, std::vector<Winner>, std::less<>>;

/// Resolves one name by the rules of CatalogBuilder and adds a note for each losing candidate.
class OperatorContest {
 public:
  OperatorContest(std::vector<Winner> claims, const PluginSources& sources,
                  std::vector<std::string>& notes);

  /// std::nullopt if all candidates are disputed
  const std::optional<Winner>& winner() const { return winner_; }
  const std::string& dispute() const { return dispute_; }  ///< the reason, as a sentence

 private:
  void settle_folder(const Winner* begin, const Winner* end);
  void take(const Winner& claim);
  void meet_equal(const Winner& claim);
  void lose(const Winner& claim);
  std::string versioned(const Winner& claim) const;
  std::string place(const Winner& claim) const { return sources_.path_of(claim.file); }

  const PluginSources& sources_;
  std::vector<std::string>& notes_;
  std::optional<Winner> winner_;
  std::vector<Winner> disputed_;  // candidates with the highest version in the current folder
  std::string dispute_;
};

}  // namespace tenon

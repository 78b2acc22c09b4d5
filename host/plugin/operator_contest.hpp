// Who wins an operator's full name.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugin/discovery/kernel_table.hpp"
#include "plugin/discovery/sources.hpp"

namespace tenon {

/// Everybody who brings an operator, by its full name, in the order of files.
using Claims = std::map<std::string, std::vector<Winner>, std::less<>>;

/// Settles one name by the rules of CatalogBuilder; what loses gets a note.
class OperatorContest {
 public:
  OperatorContest(std::vector<Winner> claims, const PluginSources& sources, std::vector<std::string>& notes);

  const std::optional<Winner>& winner() const { return winner_; }  ///< nothing: all of them are disputed
  const std::string& dispute() const { return dispute_; }          ///< why, as a sentence

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
  std::vector<Winner> disputed_;  // of the highest version in the folder that is being settled
  std::string dispute_;
};

}  // namespace tenon

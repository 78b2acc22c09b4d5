// What short names and aliases mean.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "plugin/catalog_index.hpp"
#include "plugin/discovery/kernel_table.hpp"

namespace tenon {

/// Fills CatalogIndex::names once its operators are listed. In one space a name beats an alias, and of two operators with one alias the
/// later has it; where one call brought both, neither. Of several spaces, a short name means the operator of the first preferred plugin
/// that has one, or else the one that comes with Tenon, so that no plugin takes a name from it; otherwise nothing decides.
class ShortNames {
 public:
  ShortNames(const PluginSources& sources, const Winners& winners, const std::vector<std::string>& preferred, CatalogIndex& index)
      : sources_(sources), winners_(winners), preferred_(preferred), index_(index) {}

  void settle();

 private:
  using Claims = std::map<std::string, std::vector<std::size_t>>;  // by space
  std::size_t settle_alias(const std::string& alias, const std::string& space, const std::vector<std::size_t>& claims);
  std::size_t choose(const std::vector<std::size_t>& operators) const;
  std::string note(const std::string& name, const ShortName& meaning) const;
  std::string warning(const std::string& name, const ShortName& meaning) const;
  const OperatorInfo& info(std::size_t op) const { return index_.operators[op].info; }

  const PluginSources& sources_;
  const Winners& winners_;
  const std::vector<std::string>& preferred_;
  CatalogIndex& index_;
};

}  // namespace tenon

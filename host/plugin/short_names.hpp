// Resolution of short names and aliases.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "plugin/catalog_index.hpp"
#include "plugin/discovery/kernel_table.hpp"

namespace tenon {

/// Fills CatalogIndex::names once its operators are listed. Within a namespace, a name beats an
/// alias, and of two operators with the same alias the later one has it; if one call added both,
/// neither does. Across namespaces, a short name refers to the operator of the first preferred
/// plugin that has one, else to the bundled one, so that plugins cannot take over its name;
/// otherwise it is ambiguous.
class ShortNames {
 public:
  ShortNames(const PluginSources& sources, const ResolvedOperators& winners,
             const std::vector<std::string>& preferred, CatalogIndex& index)
      : sources_(sources), winners_(winners), preferred_(preferred), index_(index) {}

  void settle();

 private:
  using Claims = std::map<std::string, std::vector<std::size_t>>;  // by namespace
  std::size_t settle_alias(const std::string& alias, const std::string& space,
                           const std::vector<std::size_t>& claims);
  std::size_t choose(const std::vector<std::size_t>& operators) const;
  std::string note(const std::string& name, const ShortName& meaning) const;
  std::string warning(const std::string& name, const ShortName& meaning) const;
  const OperatorInfo& info(std::size_t op) const { return index_.operators[op].info; }

  const PluginSources& sources_;
  const ResolvedOperators& winners_;
  const std::vector<std::string>& preferred_;
  CatalogIndex& index_;
};

}  // namespace tenon

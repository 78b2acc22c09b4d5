// Which file's kernel an operator gets on a device.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <tenon/catalog.hpp>
#include <utility>
#include <vector>

namespace tenon {

struct KernelChoice {
  enum class Source { none, own, file };  ///< own: the functions of the operator's own table
  Source source = Source::none;
  int file = -1;
};

/// Threads: reading is safe while settle() does not run.
class KernelTable {
 public:
  /// Decides anew from all files, whose kernels may meet an operator that came later. Sets the operators' devices; returns one sentence for
  /// each two kernels that met. Aliases are no names here: a kernel names its operator by the operator's own.
  std::vector<std::string> settle(const std::vector<PluginFile>& files, std::vector<CatalogOperator>& operators);

  KernelChoice find(std::string_view op, std::string_view device) const;
  bool uses(int file) const;  ///< whether a kernel of the file was chosen, or waits for its operator

 private:
  using Key = std::pair<std::string, std::string>;  // operator, device
  using Claims = std::map<Key, std::vector<KernelChoice>>;

  static Claims collect(const std::vector<PluginFile>& files, const std::vector<CatalogOperator>& operators);
  static KernelChoice decide(const Key& key, const std::vector<KernelChoice>& claims, const std::vector<PluginFile>& files,
                             std::vector<std::string>& notes);

  std::map<Key, KernelChoice> choices_;
};

}  // namespace tenon

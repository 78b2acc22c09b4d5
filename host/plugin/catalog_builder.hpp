// Puts candidates into the catalog and settles who wins where two bring the same thing.
//
// Operators: the highest version of a name wins. Of the same version, identical manifests: the first file wins; different ones: nobody
// does. Kernels: those that lie beside an operator share its fate, for they are the same plugin twice. Others are settled by the bytes of
// their files: the same, the first wins; different ones, nobody does.
#pragma once
#include <string_view>
#include <tenon/catalog.hpp>
#include <unordered_map>
#include <vector>

#include "plugin/discovery/candidate.hpp"
#include "plugin/discovery/kernel_table.hpp"

namespace tenon {

/// Threads: one.
class CatalogBuilder {
 public:
  explicit CatalogBuilder(Catalog& catalog) : catalog_(catalog) {}

  void add(std::vector<Candidate> candidates);
  /// An operator of the application. Its name must be free; files that come later do not get it either.
  void add_own(OperatorInfo info);

  /// Where the operator's kernel for a device is.
  KernelChoice kernel(std::string_view op, std::string_view device) const { return kernels_.find(op, device); }

 private:
  struct Contest {
    int version = 0;
    std::vector<int> files;  // that brought this version, the winner first; -1: the application
    bool disputed = false;
    std::size_t place = 0;  // in catalog_.operators_, unless disputed
  };

  void claim(OperatorInfo info, int file);
  void settle_equal(Contest& contest, const OperatorInfo& info, int file);
  void win(Contest& contest, OperatorInfo info, int file);
  void finish();
  void sort_operators();
  void index_aliases();
  void mark_duplicates();
  std::string reason_unused(const PluginFile& file) const;

  std::string path_of(int file) const;
  void note(std::string sentence);

  Catalog& catalog_;
  std::unordered_map<std::string, Contest> contests_;
  KernelTable kernels_;
  std::vector<std::string> operator_notes_;
};

}  // namespace tenon

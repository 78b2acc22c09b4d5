// Puts what files and the application bring into a catalog and settles who wins where two bring the same thing.
//
// Operators of different spaces live side by side, whatever their names; ShortNames settles what a short name means. Of one full name, what
// a later call brings replaces what an earlier one brought, whatever its version. Of one call, the first folder wins. Within a folder the
// highest version of an operator wins; of the same version, identical manifests: the first file wins; different ones: neither does, and
// what other folders or earlier calls brought stays. The default folders count as the earliest call, whenever they are read. Nothing
// replaces the host's own operators. Kernels: see KernelTable.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugin/catalog_index.hpp"
#include "plugin/discovery/candidate.hpp"
#include "plugin/discovery/sources.hpp"

namespace tenon {

/// Threads: one.
class CatalogBuilder {
 public:
  enum class Layer { defaults, latest };

  /// Takes a file in under the next number, or in the place of `old`, which must be a file that was refused when it was read. It counts
  /// once a layer has it.
  int add_file(Candidate candidate, int old = -1);
  /// The file of that number when it was last read, for others to compare with.
  const PluginSource& file(int number) const { return sources_.files[static_cast<std::size_t>(number)]; }
  /// The path leads to that file, too.
  void add_path(int number, const std::filesystem::path& path);
  /// The file has changed and was read again under another number.
  void supersede(int number);
  /// What one call brings: folders of files, by their numbers. A file that was there already moves.
  void add_layer(const std::vector<std::vector<int>>& folders, Layer layer = Layer::latest);
  /// These files were given one by one, as those of a pack are: where a name stands for an operator of theirs, versions in folders do not
  /// count, whatever a graph's file needs.
  void add_named(const std::vector<int>& files);
  /// Whose operators short names mean where several have them; the first that has one.
  void prefer(std::vector<std::string> plugins) { preferred_ = std::move(plugins); }
  void add_searched(std::filesystem::path folder) { searched_.push_back(std::move(folder)); }
  void add_not_searched(std::string sentence) { not_searched_.push_back(std::move(sentence)); }
  int file_count() const { return static_cast<int>(sources_.files.size()); }
  /// An operator of the application; returns its full name. Throws Failure (usage) where it claims the space of those that come with Tenon.
  std::string add_own(OperatorInfo info, OwnOperator own);
  /// One of the host's own.
  void add_builtin(OperatorInfo info, OwnOperator own);

  struct Built {
    std::shared_ptr<const CatalogIndex> index;
    std::vector<std::string> unused;  ///< of each file: why it is not used, as words that follow its path; empty: it is
  };
  /// Operators that are as they were `before` keep their definitions.
  Built build(const CatalogIndex& before) const;

 private:
  struct Own {
    std::shared_ptr<const OperatorInfo> info;
    OwnOperator own;
    Rank rank;
  };

  PluginSources sources_;
  std::map<std::string, Own, std::less<>> builtin_, own_;  // by full name
  std::vector<std::filesystem::path> searched_;
  std::vector<std::string> not_searched_;
  std::vector<std::string> preferred_;
  std::set<int> named_;
  int layers_ = 0;  // 0: the default folders
};

}  // namespace tenon

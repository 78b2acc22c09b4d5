// Builds a catalog from files and the application, and resolves conflicts.
//
// Operators of different namespaces coexist, whatever their names; ShortNames resolves short names.
// For one full name, a later call replaces what an earlier one added, whatever its version. Within
// one call, the first folder wins. Within a folder, the highest version wins; if several files have
// that version with identical manifests, the first file wins, and with different manifests none
// does, and what other folders or earlier calls added stays. The default folders count as the
// earliest call, whenever they are read. Nothing replaces the host's own operators. For kernels,
// see KernelTable.
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

/// Not thread-safe.
class CatalogBuilder {
 public:
  enum class Layer { defaults, latest };

  /// Adds a file under the next number, or under `old`, which must be a file that was refused when
  /// read. The file takes effect once it is part of a layer.
  int add_file(Candidate candidate, int old = -1);
  /// Returns the file as it was when last read, for comparisons.
  const PluginSource& file(int number) const {
    return sources_.files[static_cast<std::size_t>(number)];
  }
  /// Records another path of the same file.
  void add_path(int number, const std::filesystem::path& path);
  /// Marks a file that has changed and was read again under another number.
  void supersede(int number);
  /// Adds the files of one call, by folder and number. A file that already belongs to a layer
  /// moves.
  void add_layer(const std::vector<std::vector<int>>& folders, Layer layer = Layer::latest);
  /// Adds files that were passed individually, such as those of a pack. If a name resolves to one
  /// of their operators, versions in folders are ignored, whatever version a graph file needs.
  void add_named(const std::vector<int>& files);
  /// Preferred plugins or namespaces for ambiguous short names; the first one that has the name
  /// wins.
  void prefer(std::vector<std::string> plugins) { preferred_ = std::move(plugins); }
  void add_searched(std::filesystem::path folder) { searched_.push_back(std::move(folder)); }
  void add_not_searched(std::string sentence) { not_searched_.push_back(std::move(sentence)); }
  int file_count() const { return static_cast<int>(sources_.files.size()); }
  /// Adds an operator of the application and returns its full name. Throws Failure (usage) if it
  /// claims the namespace of the bundled operators.
  std::string add_application_operator(OperatorInfo info, InProcessOperator in_process);
  /// Adds one of the host's own operators.
  void add_builtin(OperatorInfo info, InProcessOperator in_process);

  struct Built {
    std::shared_ptr<const CatalogIndex> index;
    /// by file: why it is not used, as text that follows its path; empty if it is used
    std::vector<std::string> unused;
  };
  /// Operators that are unchanged since `before` keep their definitions.
  Built build(const CatalogIndex& before) const;

 private:
  struct InProcessEntry {
    std::shared_ptr<const OperatorInfo> info;
    InProcessOperator in_process;
    Rank rank;
  };

  PluginSources sources_;
  std::map<std::string, InProcessEntry, std::less<>> builtin_, application_;  // by full name
  std::vector<std::filesystem::path> searched_;
  std::vector<std::string> not_searched_;
  std::vector<std::string> preferred_;
  std::set<int> named_;
  int layers_ = 0;  // 0 for the default folders
};

}  // namespace tenon

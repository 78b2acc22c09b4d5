// The meaning of a catalog's names. Immutable once built: readers keep using it while the next one
// is built.
#pragma once
#include <tenon/abi.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tenon/host/catalog.hpp>
#include <utility>
#include <vector>

#include "device/device_types.hpp"
#include "plugin/discovery/kernel_table.hpp"

namespace tenon {

struct LoadedOperator;

/// An operator of the application or of the host itself.
struct InProcessOperator {
  const tenon_operator* table = nullptr;
  std::shared_ptr<const OperatorFactory> make;  ///< creates its objects; null: the table's create()
};

/// An operator with everything that determines how it is loaded. Catalogs share definitions that
/// are equal.
struct Definition {
  std::shared_ptr<const OperatorInfo> info;
  int file = -1;
  int since = 0;                   // first layer in which the name has referred to it
  InProcessOperator in_process{};  // if file is -1
  ByDevice<KernelChoice> kernels{};
  ByDevice<std::vector<KernelChoice>> variants{};
  // set once; the pointee keeps this definition alive
  mutable std::atomic<const LoadedOperator*> loaded = nullptr;
};

/// A sentence for hints and notes about operators with CatalogOperator::has_file_space().
inline constexpr const char* file_space_hint =
    "plugins without op.space() use their file name as namespace; set op.space() so that versions "
    "of a plugin share one";

/// The operators that a short name or alias may refer to, at most one per namespace.
struct ShortName {
  std::vector<std::size_t> operators;  // indices into CatalogIndex::operators
  // the operator used if no namespace is given; `nowhere` if ambiguous
  std::size_t chosen;
  /// Warning for users of the short name if a plugin that was added, or the application, also has
  /// it and no preference decides. Usually empty.
  std::string warning{};
};

struct CatalogIndex {
  std::vector<CatalogOperator> operators;                      // sorted by name, then space
  std::vector<std::shared_ptr<const Definition>> definitions;  // one per operator
  /// For operators available in several versions, the versions that their names do not refer to;
  /// saved graphs may need them.
  std::map<std::string, std::vector<std::shared_ptr<const Definition>>, std::less<>> other_versions;
  std::vector<std::string> notes;
  std::vector<std::filesystem::path> searched;
  std::vector<std::string> not_searched;
  std::map<std::string, ShortName, std::less<>> names;  // including aliases
  /// Namespaces that a file's operators without op.space() would have under the file's other names,
  /// and the file.
  std::set<std::pair<std::string, int>> also_spaces;
  /// Operators that support an ONNX operator, by its type and domain, in the order of `operators`.
  std::map<std::string,
           std::map<std::string, std::vector<std::pair<std::size_t, const OnnxForm*>>, std::less<>>,
           std::less<>>
      onnx;
  // full names that several files claim without a winner, and the reason
  std::map<std::string, std::string, std::less<>> disputed;

  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
  /// Finds an operator by name or alias, full or short; `nowhere` if there is none. With `home`, a
  /// short name first refers to the operator of that namespace, then to Tenon's, and only then to
  /// the chosen one.
  std::size_t find(std::string_view name, std::string_view home = {}) const;
  /// Returns why there is no such operator, naming the files that claim it; empty if none do.
  std::string dispute(std::string_view name) const;
};

}  // namespace tenon

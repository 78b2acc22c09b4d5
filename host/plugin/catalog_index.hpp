// What the names of a catalog stand for. Built whole and never changed: whoever has it goes on with it while the next one is built.
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
struct OwnOperator {
  const tenon_operator* table = nullptr;
  std::shared_ptr<const OperatorFactory> make;  ///< of its objects; null: the table's create()
};

/// An operator with all that decides what loading it gives. Catalogs that agree on an operator share it.
struct Definition {
  std::shared_ptr<const OperatorInfo> info;
  int file = -1;
  int since = 0;      // the layer from which on the name has stood for it
  OwnOperator own{};  // where file is -1
  ByDevice<KernelChoice> kernels{};
  ByDevice<std::vector<KernelChoice>> variants{};
  mutable std::atomic<const LoadedOperator*> loaded = nullptr;  // set once; what it points to keeps this
};

/// Part of a hint or a note about operators with CatalogOperator::has_file_space().
inline constexpr const char* file_space_hint =
    "a plugin without op.space() has its file's name as its space: with one, versions of a plugin are one plugin";

/// What a short name or alias stands for: in each space at most one operator.
struct ShortName {
  std::vector<std::size_t> operators;  // indices into CatalogIndex::operators
  std::size_t chosen;                  // the one that is meant where no space is said; nowhere: nothing decides
  /// For whoever uses the short name: what it means, where a plugin that was added, or the application, has it, too, and no preference
  /// decided. Mostly empty.
  std::string warning{};
};

struct CatalogIndex {
  std::vector<CatalogOperator> operators;                      // sorted by name, then space
  std::vector<std::shared_ptr<const Definition>> definitions;  // one for each operator
  /// Of operators that are here in several versions, those that their names do not stand for: graphs that were saved may need them.
  std::map<std::string, std::vector<std::shared_ptr<const Definition>>, std::less<>> other_versions;
  std::vector<std::string> notes;
  std::vector<std::filesystem::path> searched;
  std::vector<std::string> not_searched;
  std::map<std::string, ShortName, std::less<>> names;  // aliases, too
  /// Spaces that a file's operators without op.space() would have under its other names, and the file.
  std::set<std::pair<std::string, int>> also_spaces;
  /// Who claims an operator of ONNX, by its type and domain, in the order of `operators`.
  std::map<std::string, std::map<std::string, std::vector<std::pair<std::size_t, const OnnxForm*>>, std::less<>>, std::less<>> onnx;
  std::map<std::string, std::string, std::less<>> disputed;  // full names that several files claim, and no operator has; a sentence

  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
  /// By name or alias, full or short; nowhere. With `home`, a short name means the operator of that space, or else Tenon's, before the
  /// choice.
  std::size_t find(std::string_view name, std::string_view home = {}) const;
  /// Why there is no such operator, as a sentence: the files that claim it; empty: none does.
  std::string dispute(std::string_view name) const;
};

}  // namespace tenon

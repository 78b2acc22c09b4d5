// What the names of a catalog stand for. Built whole and never changed: whoever has it goes on with it while the next one is built.
#pragma once
#include <tenon/abi.h>

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tenon/host/catalog.hpp>
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
  mutable std::atomic<const LoadedOperator*> loaded = nullptr;  // set once; what it points to keeps this
};

struct CatalogIndex {
  std::vector<CatalogOperator> operators;                      // sorted by name
  std::vector<std::shared_ptr<const Definition>> definitions;  // one for each operator
  std::vector<std::string> notes;
  std::vector<std::filesystem::path> searched;
  std::map<std::string, std::size_t, std::less<>> aliases;   // to an index into operators
  std::map<std::string, std::string, std::less<>> disputed;  // names that no operator has, because several files claim them; a sentence

  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
  std::size_t find(std::string_view name) const;  ///< by name or alias; nowhere
};

}  // namespace tenon

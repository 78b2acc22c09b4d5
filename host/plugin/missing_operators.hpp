// What is said of operators that no plugin has, or only one that cannot be used.
#pragma once
#include <span>
#include <string>
#include <tenon/host/catalog.hpp>
#include <tenon/host/failure.hpp>

namespace tenon {

struct MissingOperator {
  std::string name, use;  ///< use: "of node 'a'", what follows the name; may be empty
};

/// All of them in one sentence: why each cannot be used, or else the folders that were searched; near names as a hint. Kind: plugin.
Failure missing_operators(const Catalog& catalog, std::span<const MissingOperator> missing);

}  // namespace tenon
